//! Finds which modules of a crate import each other, as far as a scan of the text shows.
//!
//! The scan sees `use` declarations, and paths in code that begin with `crate`, `super` or `self`. It follows
//! re-exports to the module that defines the name, so `crate::Shape` is an import of the module of `Shape`.
//! It does not see method calls, macros, or tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// A path below the root of a crate: of a module, or of a name in a module.
type Names = Vec<String>;

/// The modules of a crate, and what they import.
#[derive(Debug, Default)]
pub struct Modules {
    modules: BTreeSet<Names>,
    /// By module and name: the path that the name refers to, if a `use` declaration has brought it into
    /// scope.
    brought: BTreeMap<(Names, String), Names>,
    /// Modules, each with the path of an item that it uses.
    uses: BTreeSet<(Names, Names)>,
}

impl Modules {
    /// Scans the Rust files below `src`, each given with its text.
    pub fn new(src: &Path, files: &BTreeMap<PathBuf, String>) -> Self {
        let module_of = |path: &Path| -> Names {
            let path = path.strip_prefix(src).expect("the file is below `src`").with_extension("");
            let names = path.components().map(|part: Component<'_>| part.as_os_str().to_string_lossy());
            names.map(|name| name.into_owned()).filter(|name| !["lib", "main"].contains(&&**name)).collect()
        };
        let files = files.iter().map(|(path, text)| (module_of(path), code(text)));
        let files: Vec<(Names, String)> =
            files.filter(|(module, _)| !module.iter().any(|name| name == "tests")).collect();
        let mut this =
            Self { modules: files.iter().map(|(module, _)| module.clone()).collect(), ..Self::default() };
        this.modules.insert(Names::new());
        for (module, code) in &files {
            for statement in code.split(';') {
                let (before, tree) = declared(statement);
                for mut path in tree.map(paths).unwrap_or_default() {
                    path.pop_if(|name| name == "self");
                    let Some(path) = this.absolute(module, &path) else { continue };
                    if let Some(name) = path.last() {
                        this.brought.insert((module.clone(), name.clone()), path.clone());
                    }
                    this.uses.insert((module.clone(), path));
                }
                for path in inline(before) {
                    this.uses.extend(this.absolute(module, &path).map(|path| (module.clone(), path)));
                }
            }
        }
        this
    }

    /// Returns the number of pairs of modules with the same parent in which the first module, or one below
    /// it, imports the second.
    pub fn imports(&self) -> usize {
        self.siblings().values().flat_map(|of_parent| of_parent.values()).map(BTreeMap::len).sum()
    }

    /// Returns a cycle of modules with the same parent that import each other, if there is one: each import
    /// as text. A module and those below it may import each other, and count as one.
    pub fn circle(&self) -> Option<Vec<String>> {
        self.siblings().values().find_map(|imports| {
            imports.keys().find_map(|start| {
                // Maps each module reachable from the first one to the module that imports it.
                let mut from: BTreeMap<&String, &String> = BTreeMap::new();
                let mut next = vec![start];
                while let Some(module) = next.pop() {
                    for used in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
                        if !from.contains_key(used) {
                            from.insert(used, module);
                            next.push(used);
                        }
                    }
                }
                let mut circle = Vec::new();
                let mut module = start;
                while let Some(&user) = from.get(module) {
                    circle.push(imports[user][module].clone());
                    module = user;
                    if module == start {
                        circle.reverse();
                        return Some(circle);
                    }
                }
                None
            })
        })
    }

    /// Returns the imports between modules with the same parent: by parent, importing and imported module,
    /// one of the imports as text.
    fn siblings(&self) -> BTreeMap<Names, BTreeMap<String, BTreeMap<String, String>>> {
        let mut siblings: BTreeMap<Names, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
        for (module, path) in &self.uses {
            let used = self.module_of(path);
            let common = module.iter().zip(&used).take_while(|(a, b)| a == b).count();
            if let (Some(user), Some(imported)) = (module.get(common), used.get(common)) {
                let text = format!("{} uses {}", module.join("::"), path.join("::"));
                let of_parent = siblings.entry(module[..common].to_vec()).or_default();
                of_parent.entry(user.clone()).or_default().entry(imported.clone()).or_insert(text);
            }
        }
        siblings
    }

    /// Returns the module in which a path ends, even if the path goes through re-exports.
    fn module_of(&self, path: &Names) -> Names {
        /// More consecutive re-exports than this form a cycle, as when a module is imported by its name.
        const MOST: usize = 8;
        let mut path = path.clone();
        for _ in 0..MOST {
            let depth = (0..=path.len()).rev().find(|&depth| self.modules.contains(&path[..depth]));
            let (module, rest) = path.split_at(depth.unwrap_or(0));
            let brought = rest.first().and_then(|name| self.brought.get(&(module.to_vec(), name.clone())));
            match brought {
                Some(brought) if *brought != path => path = [&brought[..], &rest[1..]].concat(),
                _ => return module.to_vec(),
            }
        }
        Names::new()
    }

    /// Returns a path relative to the root of the crate; `None` if it leads to another crate.
    fn absolute(&self, module: &Names, path: &[String]) -> Option<Names> {
        let (first, mut rest) = path.split_first()?;
        let mut here = &module[..];
        match &**first {
            "crate" => here = &[],
            "self" => {}
            "super" => {
                here = here.split_last()?.1;
                while let Some(("super", after)) = rest.split_first().map(|(name, after)| (&**name, after)) {
                    here = here.split_last()?.1;
                    rest = after;
                }
            }
            _ if self.modules.contains(&[here, std::slice::from_ref(first)].concat()) => rest = path,
            _ => return None,
        }
        Some([here, rest].concat())
    }
}

/// Returns the code of a file, without comments, imports for comments, and the test module.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if ["#[cfg(test)]", "#[cfg(doc)]"].contains(&line) {
            match lines.next() {
                Some(module) if module.starts_with("mod ") && module.ends_with('{') => break,
                _ => continue,
            }
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// Splits a statement into what precedes a `use` declaration and the tree of that declaration, if there is
/// one.
fn declared(statement: &str) -> (&str, Option<&str>) {
    let Some((before, tree)) = statement.rsplit_once("use ") else { return (statement, None) };
    let visibility = before.rsplit('\n').next().unwrap_or_default().trim();
    let is_one = visibility.is_empty() || visibility == "pub" || visibility.starts_with("pub(");
    if is_one { (before, Some(tree)) } else { (statement, None) }
}

/// Returns the paths in the tree of a `use` declaration.
fn paths(tree: &str) -> Vec<Names> {
    let Some((head, list)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![path.split("::").map(|name| name.trim().to_owned()).collect()];
    };
    let head: Names =
        head.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let mut depth = 0;
    let parts = list.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.flat_map(paths).map(|path| [&head[..], &path].concat()).collect()
}

/// Returns the paths in code that begin with `crate`, `super` or `self`.
fn inline(code: &str) -> Vec<Names> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c| !is_of_name(c));
    let paths =
        words.filter(|word| ["crate::", "super::", "self::"].iter().any(|first| word.starts_with(first)));
    let names = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    paths.map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(files: &[(&str, &str)]) -> Option<Vec<String>> {
        let files = files.iter().map(|(path, text)| (Path::new("src").join(path), (*text).to_owned()));
        Modules::new(Path::new("src"), &files.collect()).circle()
    }

    #[test]
    fn cycles_are_found() {
        let found = circle(&[("a.rs", "use crate::b::B;\n"), ("b.rs", "use crate::a::{A, self};\n")]);
        assert_eq!(found.unwrap(), ["a uses b::B", "b uses a"]);
        for a in [
            "use crate::{\n    c::{C, D},\n    b,\n};",
            "pub(crate) use super::b::B;",
            "fn f() { crate::b::f() }",
        ] {
            assert!(circle(&[("a.rs", a), ("b.rs", "use crate::a::A;"), ("c.rs", "")]).is_some(), "{a}");
        }
        // Through a third one, and through a name of the root.
        let (a, b, c) = ("use crate::b::B;", "use crate::c::C;", "use crate::A;");
        let files = [("lib.rs", "mod a;\npub use a::A;"), ("a.rs", a), ("b.rs", b), ("c.rs", c)];
        assert_eq!(circle(&files).unwrap().len(), 3);
    }

    #[test]
    fn cycles_below_modules_are_found() {
        let files = [
            ("m.rs", ""),
            ("m/a.rs", "use super::b::B;"),
            ("m/b/c.rs", "use crate::m::a::A;"),
            ("m/b.rs", ""),
        ];
        assert_eq!(circle(&files).unwrap(), ["m::a uses m::b::B", "m::b::c uses m::a::A"]);
        let files = [("m.rs", "pub use a::A;"), ("m/a.rs", "use crate::n::N;"), ("n.rs", "use crate::m::A;")];
        assert!(circle(&files).is_some());
    }

    #[test]
    fn acyclic_imports_are_accepted() {
        let beside = ("b.rs", "use crate::a::A;");
        assert_eq!(circle(&[("a.rs", ""), beside]), None);
        for a in
            ["// use crate::b::B;", "use other::b::B;", "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}"]
        {
            assert_eq!(circle(&[("a.rs", a), beside]), None, "{a}");
        }
        assert_eq!(
            circle(&[("a.rs", "mod c;\nuse c::C;"), ("a/c.rs", "use super::A;\nuse crate::a::D;")]),
            None
        );
        assert_eq!(circle(&[("a.rs", ""), ("a/tests.rs", "use crate::b::B;"), beside]), None);
        let found = circle(&[("a.rs", "#[cfg(test)]\nmod tests;\nuse crate::b::B;"), beside]);
        assert!(found.is_some(), "imports after the tests are seen");
    }
}
