//! The processes, and what happens to them.

use super::support::TANGLEWOOD;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use world::chance::Chance;
use world::files::TemporaryFolder;

pub struct Group {
    addresses: Vec<String>,
    children: Vec<Child>,
    folder: TemporaryFolder,
    pub faults: u64,
}

impl Group {
    pub fn start(count: usize) -> Group {
        let ports: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let addresses = ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect();
        drop(ports);
        let folder = TemporaryFolder::new("kronos-group").unwrap();
        let mut group = Group { addresses, children: Vec::new(), folder, faults: 0 };
        group.children = (0..count).map(|at| group.spawn(at)).collect();
        group
    }

    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    fn spawn(&self, at: usize) -> Child {
        let mut command = Command::new(TANGLEWOOD);
        let peers = self.addresses.join(",");
        command.args(["kronos", "--listen", &self.addresses[at], "--peers", &peers, "--data"]);
        command.arg(self.folder.path().join(at.to_string())).stdout(Stdio::null()).spawn().unwrap()
    }

    fn signal(&self, at: usize, signal: &str) {
        let pid = self.children[at].id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Kills or stops one replica for a while, now and then another one with it.
    pub fn fault(&mut self, chance: &mut Chance) {
        self.faults += 1;
        let at = chance.index(self.children.len());
        let other = (at + 1) % self.children.len();
        let time = Duration::from_millis(50 + chance.below(900));
        let hit = if chance.below(5) == 0 { vec![at, other] } else { vec![at] };
        let stop = chance.below(2) == 0;
        for at in &hit {
            if stop { self.signal(*at, "-STOP") } else { self.kill(*at) }
        }
        std::thread::sleep(time);
        for at in hit {
            if stop { self.signal(at, "-CONT") } else { self.children[at] = self.spawn(at) }
        }
    }

    fn kill(&mut self, at: usize) {
        self.children[at].kill().unwrap();
        self.children[at].wait().unwrap();
    }

    /// All run: none has ended by itself.
    pub fn heal(&mut self) {
        for (at, child) in self.children.iter_mut().enumerate() {
            assert_eq!(child.try_wait().unwrap(), None, "replica {at} ended by itself");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in &mut self.children {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
