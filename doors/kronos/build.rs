//! Makes the wire's types from the proto files; needs no protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (file, folder) in [("kronos.proto", "../../docs/formats"), ("peers.proto", "src")] {
        println!("cargo:rerun-if-changed={folder}/{file}");
        let files = protox::compile([file], [folder])?;
        tonic_prost_build::configure().compile_fds(files)?;
    }
    Ok(())
}
