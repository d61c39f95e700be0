//! The rules of this repository: its crates, documents, generated files and records.

mod architecture;
mod checker;
mod dependencies;
mod docs;
mod family_records;
mod fuzz;
mod generated;
mod planted_faults;
mod records;
mod stickers;
mod versions;
mod wording;
