use super::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::json;
use world::files::TemporaryFolder;

/// The modulus of a key of RSA, made for this test, and a token that it signed.
const RSA_MODULUS: &[&str] = &[
    "8BmkfiPVEShAo67hiEQbbetRzwIQRFoGo8wd8Db_aUp2a9gEiDR5rdjh4Toh_beTXeND5NSKfHljcTV6BbaE1bMp2ILGQvrP4Oz2",
    "RRSNQmz7QNqMmW_h5OSEqEmfwKNUH0piaEC0BCYEMhtKayexaKZe4JAHQAsZIjDb5-9dlBqqhvI2mQo60Xx3t_xRCzVdNE3nuc-Y",
    "FlZmBgt__9Q_oHyqq6LgJe5wKOIGNNAGkHaP6GTaRCmmtrA82kEuQWts2d0AL5kCW6aZTC0r2VoPkJsAUOFicqC5_qf-deKPoeJx",
    "F1UhUQwpEq76eLqNiWtJlSvQbzXiVcHeFMmiWQJNWQ",
];
const RSA_TOKEN: &[&str] = &[
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJhdWQiOlsib3RoZXIiLCJncmFwa",
    "CJdLCJzdWIiOiJhZGEiLCJleHAiOjIwMDAwMDAwMDB9.wXOxzyCXpnPZHN1OAcSgG12bO3vfh9swAQZzt3KXPhoefPnOvhJw2Qbv",
    "aPE9heCha9MWY_CNtltUOOU9Ee6n71Jb2yUwsd-ik2bvKEsuO_v04niveZEtHKMR0rZplLA-KqfcsdKV7oBsAptzOMytNv60KXtO",
    "HOkaAjkRkdj-hqAV8aKzxm5f9Ylu6WqbvnRhaYFiLCBBAwmOhD6Drh3zAk29DKyXQp7-kmqk6E28RQpdD1_RJK-_lrDQzupq_U2O",
    "9xb8klj4LXJnG5SB4Edb7vYfnWA9-onHaltVzxUdM0HKaahWjZfvug6nUHtGM0rXSPPWavG6poX1aNBN3yzLog",
];

/// Tolerated difference of clocks.
const LEEWAY_MS: u64 = 7_500;

const NOW_S: u64 = 1_900_000_000;
const NOW_MS: u64 = NOW_S * 1_000;

struct Provider {
    folder: TemporaryFolder,
    curve: EcdsaKeyPair,
    edwards: Ed25519KeyPair,
}

fn base64(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

impl Provider {
    fn new() -> Provider {
        let chance = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &chance).unwrap();
        let curve =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &chance).unwrap();
        let edwards =
            Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&chance).unwrap().as_ref()).unwrap();
        Provider { folder: TemporaryFolder::new("jwt").unwrap(), curve, edwards }
    }
    fn verifier(&self) -> Result<JwtVerifier, String> {
        let point = self.curve.public_key().as_ref();
        let keys = json!({ "keys": [
            { "kty": "oct", "k": "c2VjcmV0" },
            { "kty": "EC", "crv": "P-256", "kid": "c", "use": "sig", "x": base64(&point[1..33]), "y": base64(&point[33..]) },
            { "kty": "OKP", "crv": "Ed25519", "kid": "e", "alg": "EdDSA", "x": base64(self.edwards.public_key().as_ref()) },
            { "kty": "RSA", "kid": "r", "n": RSA_MODULUS.concat(), "e": "AQAB" },
        ]});
        self.write(&keys.to_string());
        JwtVerifier::open(self.options())
    }
    fn write(&self, text: &str) {
        world::files::write_bytes(&self.folder.path().join("keys.json"), text.as_bytes()).unwrap();
    }
    fn options(&self) -> JwtOptions {
        let keys = self.folder.path().join("keys.json");
        JwtOptions {
            keys,
            issuer: "https://id.example".into(),
            audience: "graph".into(),
            user_claim: "sub".into(),
            leeway: Duration::from_millis(LEEWAY_MS),
        }
    }
    fn token(&self, head: &Json, claims: &Json) -> String {
        let signed =
            format!("{}.{}", base64(head.to_string().as_bytes()), base64(claims.to_string().as_bytes()));
        let signature = match head["alg"].as_str() {
            Some("EdDSA") => self.edwards.sign(signed.as_bytes()).as_ref().to_vec(),
            _ => self.curve.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{signed}.{}", base64(&signature))
    }
}

fn claims() -> Json {
    json!({ "iss": "https://id.example", "aud": "graph", "sub": "ada", "exp": NOW_S + 60 })
}

#[test]
fn good_tokens_name_their_bearer_and_their_end() {
    let provider = Provider::new();
    let verifier = provider.verifier().unwrap();
    for head in [
        json!({ "alg": "ES256", "kid": "c" }),
        json!({ "alg": "ES256" }),
        json!({ "alg": "EdDSA", "kid": "e" }),
    ] {
        let bearer = verifier.look(&provider.token(&head, &claims()), NOW_MS);
        assert_eq!(
            bearer,
            Ok(JwtBearer { user: "ada".into(), until_ms: NOW_MS + 60_000 + LEEWAY_MS }),
            "{head}"
        );
    }
    let bearer = verifier.look(&RSA_TOKEN.concat(), NOW_MS).unwrap();
    assert_eq!((bearer.user.as_str(), bearer.until_ms), ("ada", 2_000_000_000_000 + LEEWAY_MS));
}

#[test]
fn everything_else_is_refused() {
    let provider = Provider::new();
    let verifier = provider.verifier().unwrap();
    let head = json!({ "alg": "ES256", "kid": "c" });
    let with = |claim: &str, value: Json| {
        let mut claims = claims();
        claims[claim] = value;
        verifier.look(&provider.token(&head, &claims), NOW_MS).is_ok()
    };
    assert!(
        // Half a second of the leeway counts too.
        with("nbf", json!(NOW_S as f64 + 7.5))
            && with("exp", json!(NOW_S - 7))
            && with("exp", json!(NOW_S as f64 - 7.25))
            && with("aud", json!(["graph"]))
    );
    for (claim, value) in [
        ("exp", json!(NOW_S as f64 - 7.5)),
        ("exp", json!("soon")),
        ("exp", json!(-1)),
        ("exp", Json::Null),
        ("nbf", json!(NOW_S as f64 + 7.75)),
        ("nbf", json!("now")),
        ("iss", json!("https://evil.example")),
        ("iss", Json::Null),
        ("aud", json!("others")),
        ("aud", json!([])),
        ("aud", Json::Null),
        ("sub", json!("")),
        ("sub", json!(7)),
    ] {
        assert!(!with(claim, value.clone()), "{claim}: {value}");
    }
    let good = provider.token(&head, &claims());
    let parts: Vec<&str> = good.split('.').collect();
    let other = provider.token(
        &head,
        &json!({ "iss": "https://id.example", "aud": "graph", "sub": "admin", "exp": NOW_S + 60 }),
    );
    let swapped = format!("{}.{}.{}", parts[0], other.split('.').nth(1).unwrap(), parts[2]);
    let unsigned = format!("{}.{}.", base64(br#"{"alg":"none"}"#), parts[1]);
    let symmetric = format!("{}.{}.{}", base64(br#"{"alg":"HS256"}"#), parts[1], parts[2]);
    let crossed = format!("{}.{}.{}", base64(br#"{"alg":"EdDSA","kid":"c"}"#), parts[1], parts[2]);
    let critical = provider.token(&json!({ "alg": "ES256", "kid": "c", "crit": ["b64"] }), &claims());
    let unknown = provider.token(&json!({ "alg": "ES256", "kid": "x" }), &claims());
    let bad = [
        swapped,
        unsigned,
        symmetric,
        crossed,
        critical,
        unknown,
        "a.b.c".into(),
        String::new(),
        "..".into(),
        format!("{good}.x"),
        "x".repeat(TOKEN_BYTES_MAX + 1),
    ];
    for token in bad {
        let told = verifier.look(&token, NOW_MS).unwrap_err();
        assert!(token.is_empty() || !told.contains(&token), "{told}");
    }
    // Each byte counts.
    let seed = world::chance::Chance::from_system().below(1 << 32);
    let mut chance = world::chance::Chance::seeded(seed);
    for _ in 0..200 {
        let mut bytes = good.clone().into_bytes();
        let at = chance.below(bytes.len() as u64) as usize;
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let token = String::from_utf8(bytes).unwrap();
        // The last digit of a part may hold bits that mean nothing; those that are not zero are refused too.
        assert!(verifier.look(&token, NOW_MS).is_err(), "byte {at}, seed {seed}");
    }
}

#[test]
fn keys_are_read_anew_and_wrong_ones_change_nothing() {
    let provider = Provider::new();
    let verifier = provider.verifier().unwrap();
    let token = provider.token(&json!({ "alg": "ES256" }), &claims());
    for wrong in [
        "",
        "{}",
        r#"{"keys": []}"#,
        r#"{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}"#,
        r#"{"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]}"#,
    ] {
        provider.write(wrong);
        assert!(verifier.reload().is_err(), "{wrong}");
        assert!(verifier.look(&token, NOW_MS).is_ok());
    }
    Provider::new().verifier().unwrap();
    provider.write(&format!(
        r#"{{"keys": [{{"kty": "RSA", "kid": "r", "n": "{}", "e": "AQAB"}}]}}"#,
        RSA_MODULUS.concat()
    ));
    verifier.reload().unwrap();
    assert!(verifier.look(&token, NOW_MS).is_err() && verifier.look(&RSA_TOKEN.concat(), NOW_MS).is_ok());
}
