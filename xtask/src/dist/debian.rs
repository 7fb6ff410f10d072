//! A Debian package: the static binary with its manual pages and completions. It depends on no other package.

use super::binary::Machine;
use super::{done, is_installed, output, runs, version};
use crate::root;
use std::path::Path;
use std::process::Command;

/// Makes the package and looks into it; passed over where `dpkg-deb` is missing.
pub fn make(machine: Machine, folder: &Path) -> bool {
    if !is_installed("dpkg-deb") {
        println!("   passed over: there is no dpkg-deb");
        return true;
    }
    let tree = folder.join(format!("package-{}", machine.debian()));
    let _ = std::fs::remove_dir_all(&tree);
    let package = folder.join(format!("tanglewood_{}_{}.deb", version(), machine.debian()));
    let made =
        fill(machine, folder, &tree).map_err(|error| println!("   {}: {error}", tree.display())).is_ok()
            && compress(&tree)
            && runs(
                Command::new("dpkg-deb")
                    .args(["--root-owner-group", "-Zgzip", "--build"])
                    .arg(&tree)
                    .arg(&package),
            )
            && is_whole(machine, folder, &package)
            && installs(machine, folder, &package);
    let _ = std::fs::remove_dir_all(&tree);
    made
}

/// Installs the package into a root of its own and runs the program there, without any other files.
fn installs(machine: Machine, folder: &Path, package: &Path) -> bool {
    if !machine.is_native() || !is_installed("dpkg") || !is_root() {
        println!("   not installed: that needs dpkg, a machine of its kind and the rights of root");
        return true;
    }
    let root = folder.join("installed-root");
    let _ = std::fs::remove_dir_all(&root);
    let administration = root.join("var/lib/dpkg");
    let is_made = ["info", "updates", "triggers"]
        .iter()
        .all(|part| done(&root, std::fs::create_dir_all(administration.join(part))))
        && done(&root, std::fs::write(administration.join("status"), ""))
        && done(&root, std::fs::create_dir_all(root.join("tmp")));
    let installed = is_made
        && output(Command::new("dpkg").arg("--root").arg(&root).arg("--install").arg(package)).is_some();
    let program = ["/usr/bin/tanglewood", "query", ":memory:", "RETURN 6 * 7 AS answer", "--format", "csv"];
    let answer =
        installed.then(|| output(Command::new("chroot").arg(&root).args(program)).unwrap_or_default());
    let is_right = answer.is_some_and(|answer| answer.lines().eq(["answer", "42"]));
    println!("   {}", if is_right { "installed, it answers" } else { "installed, it does not answer" });
    let _ = std::fs::remove_dir_all(&root);
    is_right
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0")
}

fn fill(machine: Machine, folder: &Path, tree: &Path) -> std::io::Result<()> {
    let put = |from: &Path, to: &str| {
        let to = tree.join(to);
        std::fs::create_dir_all(to.parent().expect("a file lies in a folder"))?;
        std::fs::copy(from, to).map(drop)
    };
    put(&machine.binary(folder), "usr/bin/tanglewood")?;
    put(&root().join("CHANGELOG.md"), "usr/share/doc/tanglewood/changelog")?;
    let completions = folder.join("completions");
    for (file, to) in [
        ("tanglewood.bash", "usr/share/bash-completion/completions/tanglewood"),
        ("_tanglewood", "usr/share/zsh/vendor-completions/_tanglewood"),
        ("tanglewood.fish", "usr/share/fish/vendor_completions.d/tanglewood.fish"),
    ] {
        put(&completions.join(file), to)?;
    }
    for page in std::fs::read_dir(folder.join("man"))? {
        let page = page?;
        put(&page.path(), &format!("usr/share/man/man1/{}", page.file_name().to_string_lossy()))?;
    }
    let licence = std::fs::read_to_string(root().join("LICENSE"))?;
    let head = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n";
    let copyright = format!("{head}Files: *\nLicense: Apache-2.0\n\n{licence}");
    std::fs::write(tree.join("usr/share/doc/tanglewood/copyright"), copyright)?;
    std::fs::create_dir_all(tree.join("DEBIAN"))?;
    std::fs::write(tree.join("DEBIAN/control"), control(machine, kilobytes(tree)))
}

/// The installed size.
fn kilobytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => kilobytes(&path),
        path => std::fs::metadata(path).map_or(0, |about| about.len().div_ceil(1024)),
    });
    sizes.sum()
}

fn control(machine: Machine, kilobytes: u64) -> String {
    format!(
        "Package: tanglewood\nVersion: {}\nArchitecture: {}\nInstalled-Size: {kilobytes}\nSection: database\nPriority: optional\n\
         Maintainer: The Tanglewood authors <tanglewood@localhost>\nDescription: graph database\n Transactions, traversals and standing queries over one \
         multi-version graph.\n It is asked in Cypher, Gremlin and Datalog, in a shell or over Bolt.\n",
        version(),
        machine.debian(),
    )
}

/// Debian wants manual pages and changelogs compressed.
fn compress(tree: &Path) -> bool {
    let pages = std::fs::read_dir(tree.join("usr/share/man/man1")).into_iter().flatten().flatten();
    let changelog = tree.join("usr/share/doc/tanglewood/changelog");
    let files = pages.map(|entry| entry.path()).chain([changelog]);
    runs(Command::new("gzip").args(["-9", "-n", "-f"]).args(files))
}

/// Unpacks the package and compares its binary with the one it was made of.
fn is_whole(machine: Machine, folder: &Path, package: &Path) -> bool {
    let unpacked = folder.join(format!("unpacked-{}", machine.debian()));
    let _ = std::fs::remove_dir_all(&unpacked);
    let same = runs(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&unpacked))
        && std::fs::read(unpacked.join("usr/bin/tanglewood")).ok()
            == std::fs::read(machine.binary(folder)).ok()
        && done(&unpacked, std::fs::metadata(unpacked.join("usr/share/man/man1/tanglewood.1.gz")).map(drop));
    let _ = std::fs::remove_dir_all(&unpacked);
    let field = output(Command::new("dpkg-deb").arg("--field").arg(package).arg("Architecture"));
    same && field.is_some_and(|field| field.trim() == machine.debian())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_what_debian_asks_for() {
        let control = control(Machine::Arm, 7);
        for field in ["Package", "Version", "Architecture", "Maintainer", "Description", "Installed-Size"] {
            assert_eq!(
                control.lines().filter(|line| line.starts_with(&format!("{field}: "))).count(),
                1,
                "{field}"
            );
        }
        assert!(control.lines().skip(9).all(|line| line.starts_with(' ')), "{control}");
    }
}
