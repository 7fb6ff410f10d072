//! How a client on this machine finds the server that has a folder open: the file `SERVER` beside the folder's lock.
//!
//! Written whole, for its owner alone, once the server listens; removed when it ends. A server that was killed leaves it behind, so it is
//! believed only while its process holds the folder's lock.
//!
//! ```text
//! tanglewood 1
//! process 4711
//! bolt 127.0.0.1:7687
//! passwords no
//! certificate MIIB…          the server's own, DER in base64; missing without TLS
//! ```

use data_encoding::BASE64;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use world::disk::{Disk, DiskResult, RealDisk, replace_whole};

/// Name of the file.
const NAME: &str = "SERVER";
/// First line: the kind of file, and its version.
const FORM: &str = "tanglewood 1";
/// Bytes of a file that is read; a certificate has a few thousand.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A server that has a folder open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Its process.
    pub process: u32,
    /// Where it speaks Bolt; of this machine.
    pub bolt: SocketAddr,
    /// Does it demand passwords?
    pub passwords: bool,
    /// Its certificate (DER), if every connection is wrapped in TLS.
    pub certificate: Option<Vec<u8>>,
}

/// Removes the file when it is dropped.
#[derive(Debug)]
pub struct Announcement(PathBuf);

impl Drop for Announcement {
    fn drop(&mut self) {
        // One that stays is stale, and known to be.
        let _ = RealDisk.remove(&self.0);
    }
}

impl Beside {
    /// Writes the file into the folder of a database that this process has open.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn announce(&self, folder: &Path) -> DiskResult<Announcement> {
        replace_whole(&RealDisk, folder, NAME, self.text().as_bytes())?;
        Ok(Announcement(folder.join(NAME)))
    }
    /// The server of a folder whose lock the process `holder` holds; none where that is not a server, or has not announced itself.
    pub fn find(folder: &Path, holder: Option<u32>) -> Option<Beside> {
        let path = folder.join(NAME);
        if world::files::size_bytes(&path).ok()? > FILE_BYTES_MAX {
            return None;
        }
        let found = Beside::parse(&world::files::read_text(&path).ok()?)?;
        holder.is_none_or(|holder| holder == found.process).then_some(found)
    }
    fn text(&self) -> String {
        let passwords = if self.passwords { "yes" } else { "no" };
        let mut text =
            format!("{FORM}\nprocess {}\nbolt {}\npasswords {passwords}\n", self.process, self.reachable());
        if let Some(certificate) = &self.certificate {
            text += &format!("certificate {}\n", BASE64.encode(certificate));
        }
        text
    }
    fn parse(text: &str) -> Option<Beside> {
        let rest = text.strip_prefix(FORM)?.strip_prefix('\n')?;
        let value = |name: &str| {
            rest.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::trim))
        };
        let certificate = match value("certificate") {
            Some(text) => Some(BASE64.decode(text.as_bytes()).ok()?),
            None => None,
        };
        let passwords = match value("passwords")? {
            "yes" => true,
            "no" => false,
            _ => return None,
        };
        Some(Beside {
            process: value("process")?.parse().ok()?,
            bolt: value("bolt")?.parse().ok()?,
            passwords,
            certificate,
        })
    }
    /// A server that listens everywhere is reached on this machine's own address.
    fn reachable(&self) -> SocketAddr {
        let ip = match self.bolt.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.bolt.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use world::files::TemporaryFolder;

    #[test]
    fn what_is_announced_is_found_until_it_is_dropped() {
        let folder = TemporaryFolder::new("beside").unwrap();
        let beside = Beside {
            process: 17,
            bolt: "127.0.0.1:7687".parse().unwrap(),
            passwords: true,
            certificate: Some(vec![0x30, 0xFF, 0]),
        };
        let announced = beside.announce(folder.path()).unwrap();
        let mode = std::fs::metadata(folder.path().join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "for its owner alone");
        assert_eq!(Beside::find(folder.path(), Some(17)).as_ref(), Some(&beside));
        assert_eq!(Beside::find(folder.path(), None).as_ref(), Some(&beside));
        assert_eq!(Beside::find(folder.path(), Some(18)), None, "another process holds the lock");
        drop(announced);
        assert_eq!(Beside::find(folder.path(), Some(17)), None);
    }

    #[test]
    fn what_is_no_announcement_is_none() {
        let good = "tanglewood 1\nprocess 4\nbolt [::1]:9\npasswords no\n";
        assert!(Beside::parse(good).is_some());
        for bad in ["", "tanglewood 2\n", "tanglewood 1\nprocess x\nbolt 1.2.3.4:5\npasswords no\n"] {
            assert_eq!(Beside::parse(bad), None, "{bad}");
        }
        assert_eq!(Beside::parse(&format!("{good}certificate ?\n")), None);
        let everywhere = Beside { bolt: "0.0.0.0:5".parse().unwrap(), ..Beside::parse(good).unwrap() };
        assert_eq!(Beside::parse(&everywhere.text()).unwrap().bolt, "127.0.0.1:5".parse().unwrap());
    }
}
