use super::*;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use world::net::{Net, NetError, TcpNet};

const SOON: Duration = Duration::from_secs(20);

/// An authority that signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }
    /// A certificate for this name or address, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_string()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// A process with a certificate of `signer` for `name`, which accepts those that `takes` signed.
fn tls(signer: &Authority, name: &str, takes: &Authority) -> PeerTls {
    let (certificate, key) = signer.sign(name);
    PeerTls::from_pem(certificate.as_bytes(), key.as_bytes(), takes.pem.as_bytes()).unwrap()
}

fn net(tls: PeerTls) -> TcpNet {
    TcpNet::covered("127.0.0.1:0", b"s", Some(Arc::new(tls))).unwrap()
}

/// Does a repeated message arrive within a while?
fn is_heard(from: &TcpNet, to: &TcpNet) -> bool {
    (0..12).any(|_| {
        from.send(to.address(), vec![7]);
        to.receive(Duration::from_millis(50)).is_some()
    })
}

#[test]
fn processes_of_one_authority_hear_each_other_and_nobody_else() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let host = net(tls(&ours, "127.0.0.1", &ours));
    let friend = net(tls(&ours, "127.0.0.1", &ours));
    for (from, to) in [(&friend, &host), (&host, &friend)] {
        for length in [0, 1, 70_000, 3 << 20] {
            from.send(to.address(), vec![5; length]);
            assert_eq!(to.receive(SOON), Some(vec![5; length]));
        }
        (0..1_000_u32).for_each(|number| from.send(to.address(), number.to_le_bytes().into()));
        (0..1_000_u32).for_each(|number| assert_eq!(to.receive(SOON), Some(number.to_le_bytes().into())));
        assert_eq!((from.counts().connects, from.counts().dropped), (1, 0));
    }
    // Signed by somebody else, in one direction and the other; known by another name; without TLS.
    assert!(!is_heard(&net(tls(&theirs, "127.0.0.1", &ours)), &host));
    assert!(!is_heard(&net(tls(&ours, "127.0.0.1", &theirs)), &host));
    assert!(!is_heard(&friend, &net(tls(&ours, "localhost", &ours))));
    let plain = TcpNet::open("127.0.0.1:0", b"s").unwrap();
    assert!(!is_heard(&plain, &host) && !is_heard(&friend, &plain));
    // The certificate alone is not enough where there is a secret, and a peer that went is found again.
    let stranger = TcpNet::covered("127.0.0.1:0", b"t", Some(Arc::new(tls(&ours, "127.0.0.1", &ours))));
    assert!(!is_heard(&stranger.unwrap(), &host));
    let address = host.address().to_string();
    drop(host);
    assert!(!is_heard(&friend, &plain));
    let again = TcpNet::covered(&address, b"s", Some(Arc::new(tls(&ours, "127.0.0.1", &ours)))).unwrap();
    assert!(is_heard(&friend, &again));
}

#[test]
fn an_address_of_others_needs_a_secret_or_certificates() {
    let ours = Authority::new();
    assert!(matches!(TcpNet::open("0.0.0.0:0", b""), Err(NetError::NeedsSecret(_))));
    assert!(TcpNet::covered("0.0.0.0:0", b"", Some(Arc::new(tls(&ours, "db", &ours)))).is_ok());
}

#[test]
fn what_another_would_refuse_is_known_before() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let fits = tls(&ours, "127.0.0.1", &ours);
    assert_eq!(fits.check("127.0.0.1:7800"), Ok(()));
    assert_eq!(tls(&ours, "::1", &ours).check("[::1]:7800"), Ok(()));
    assert_eq!(tls(&ours, "db.example.org", &ours).check("db.example.org:7800"), Ok(()));
    for (tls, address) in [
        (&fits, "10.0.0.1:7800"),
        (&fits, "db.example.org:7800"),
        (&tls(&theirs, "127.0.0.1", &ours), "127.0.0.1:7800"),
    ] {
        assert!(tls.check(address).unwrap_err().contains("is not taken for"), "{address}");
    }
}

#[test]
fn files_that_do_not_fit_are_told() {
    let (ours, (certificate, key)) = (Authority::new(), Authority::new().sign("db"));
    let (_, other) = ours.sign("db");
    let [certificate, key, other, signer] =
        [&certificate, &key, &other, &ours.pem].map(|text| text.as_bytes());
    for (parts, what) in [
        ((certificate, other, signer), "do not fit"),
        ((b"".as_slice(), key, signer), "holds none"),
        ((certificate, key, b"".as_slice()), "holds none"),
        ((certificate, certificate, signer), "the private key is not PEM"),
        ((b"-----BEGIN CERTIFICATE-----\n*\n".as_slice(), key, signer), "is not PEM"),
    ] {
        let refused = PeerTls::from_pem(parts.0, parts.1, parts.2).err().unwrap();
        assert!(refused.contains(what), "{refused}");
    }
}
