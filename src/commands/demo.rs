//! demo
use super::Exit;
use clap::Args;
#[derive(Args)]
pub struct Demo {}
impl Demo {
    pub fn run(self) -> Result<(), Exit> {
        Ok(())
    }
}
