//! `SHA256SUMS`: the checksum of each file that is handed out, as `sha256sum --check` reads them.

use super::{done, output, version};
use std::path::Path;
use std::process::Command;

/// Writes the sums of the products that lie in `folder`, and checks them once.
pub fn make(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name());
    let mut names: Vec<String> =
        names.map(|name| name.to_string_lossy().into_owned()).filter(|name| is_product(name)).collect();
    names.sort();
    let sums = folder.join("SHA256SUMS");
    output(Command::new("sha256sum").args(&names).current_dir(folder))
        .is_some_and(|text| done(&sums, std::fs::write(&sums, text)))
        && output(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(folder))
            .is_some()
        && !names.is_empty()
}

/// Programs that cargo builds by the profile `dist` lie in the same folder.
fn is_product(name: &str) -> bool {
    let is_ours = ["tanglewood-", "tanglewood_"].iter().any(|head| name.starts_with(head));
    (is_ours && name.contains(version())) || name == "Containerfile"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_products_are_summed() {
        let version = version();
        assert!(is_product(&format!("tanglewood-{version}-x86_64-linux")));
        assert!(is_product(&format!("tanglewood_{version}_amd64.deb")));
        assert!(is_product("Containerfile"));
        for other in ["tanglewood", "tanglewood.d", "libtanglewood.rlib", "SHA256SUMS", ".cargo-lock"] {
            assert!(!is_product(other), "{other}");
        }
    }
}
