//! A container: the static binary and nothing else. It is built and tried where podman or docker runs; its file is written in any case.

use super::binary::Machine;
use super::{done, output, runs, version};
use std::path::Path;
use std::process::Command;

/// User and group in the container, which exist on no host.
const USER: u32 = 10_001;

/// Writes `Containerfile` for the binaries beside it, and tries the image where there is a runtime.
pub fn make(made: &[Machine], folder: &Path) -> bool {
    let file = folder.join("Containerfile");
    if !done(&file, std::fs::write(&file, containerfile())) {
        return false;
    }
    let arch = std::env::consts::ARCH;
    let Some(machine) = made.iter().find(|machine| machine.triple().starts_with(arch)) else {
        println!("   not built: no binary was made that runs here");
        return true;
    };
    let answers =
        |program: &&str| Command::new(program).arg("info").output().is_ok_and(|out| out.status.success());
    let Some(runtime) = ["podman", "docker"].into_iter().find(answers) else {
        println!("   not built: neither podman nor docker answers here");
        return true;
    };
    build(runtime, *machine, folder)
}

/// The two machines differ in the name of the binary alone.
fn containerfile() -> String {
    let version = version();
    format!(
        "# podman build --build-arg MACHINE=x86_64-linux --tag tanglewood .\n\
         # podman run --rm -it -v tanglewood:/data tanglewood user add /data/graph.db NAME\n\
         # podman run -v tanglewood:/data -p 7687:7687 tanglewood\n\
         FROM scratch\n\
         ARG MACHINE=x86_64-linux\n\
         COPY --chmod=755 tanglewood-{version}-${{MACHINE}} /usr/bin/tanglewood\n\
         COPY --chown={USER}:{USER} data /data\n\
         USER {USER}:{USER}\n\
         WORKDIR /data\n\
         ENV TMPDIR=/data\n\
         VOLUME /data\n\
         EXPOSE 7687\n\
         ENTRYPOINT [\"/usr/bin/tanglewood\"]\n\
         CMD [\"serve\", \"/data/graph.db\", \"--bolt\", \"0.0.0.0:7687\", \"--auth\", \"password\"]\n"
    )
}

fn build(runtime: &str, machine: Machine, folder: &Path) -> bool {
    let (tag, data) = (format!("tanglewood:{}", version()), folder.join("data"));
    if !done(&data, std::fs::create_dir_all(&data)) {
        return false;
    }
    let built = runs(
        Command::new(runtime)
            .args(["build", "--quiet", "--tag", &tag, "--build-arg", &format!("MACHINE={}", machine.name())])
            .args(["--file", "Containerfile", "."])
            .current_dir(folder),
    );
    let ask = ["run", "--rm", "--network", "none", &tag, "query", "graph.db", "RETURN 6 * 7 AS answer"];
    let answer = built.then(|| {
        output(Command::new(runtime).args(ask).args(["--create", "--format", "csv"])).unwrap_or_default()
    });
    let is_right = answer.is_some_and(|answer| answer.lines().eq(["answer", "42"]));
    println!(
        "   {runtime}: {}",
        if is_right { "the container answers" } else { "the container does not answer" }
    );
    is_right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_names_the_binaries_as_they_are_called() {
        let file = containerfile();
        for machine in Machine::ALL {
            let binary = machine.binary(Path::new(""));
            assert!(file.replace("${MACHINE}", machine.name()).contains(&*binary.to_string_lossy()));
        }
    }
}
