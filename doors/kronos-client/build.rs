//! Makes the client's types from `docs/formats/kronos.proto`; needs no protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (file, folder) = ("kronos.proto", "../../docs/formats");
    println!("cargo:rerun-if-changed={folder}/{file}");
    let files = protox::compile([file], [folder])?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    Ok(())
}
