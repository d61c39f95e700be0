//! Functions and words of GAP that are known by name.

/// The functions that modify the list that they are called with.
pub(super) const CHANGE_LISTS: [&str; 9] = [
    "Add",
    "AddSet",
    "Append",
    "CopyListEntries",
    "IntersectSet",
    "Remove",
    "RemoveSet",
    "SubtractSet",
    "UniteSet",
];

/// Functions whose values are not groups, besides those with a prefix in [`NO_GROUP_PREFIXES`].
const NO_GROUPS: [&str; 38] = [
    "AbelianInvariants",
    "AsList",
    "AsSet",
    "Assert",
    "Blocks",
    "CycleLength",
    "CycleLengths",
    "CycleStructurePerm",
    "DegreeAction",
    "Display",
    "Elements",
    "Enumerator",
    "Exponent",
    "Factors",
    "FactorsInt",
    "GeneratorsOfGroup",
    "IdGroup",
    "IdSmallGroup",
    "Index",
    "LargestMovedPoint",
    "Length",
    "List",
    "LoadPackage",
    "LogTo",
    "MaximalBlocks",
    "MovedPoints",
    "OnTuplesSets",
    "Orbit",
    "OrbitLength",
    "OrbitLengths",
    "Orbits",
    "Order",
    "Random",
    "SignPerm",
    "Size",
    "SmallestMovedPoint",
    "StructureDescription",
    "Transitivity",
];
/// Prefixes of the names of functions that test, count, print or set something.
const NO_GROUP_PREFIXES: [&str; 6] = ["Has", "Is", "Nr", "Number", "Print", "Set"];

/// Words that begin a statement of a program.
pub(super) const PROGRAM: [&str; 8] =
    ["break", "continue", "for", "if", "local", "repeat", "return", "while"];

/// Returns whether a function of GAP is known not to return a group.
pub(super) fn gives_no_group(function: &str) -> bool {
    NO_GROUPS.contains(&function) || NO_GROUP_PREFIXES.iter().any(|prefix| function.starts_with(prefix))
}
