//! Tokens of an identity provider (OpenID Connect): JSON Web Tokens (RFC 7519) with a signature (RFC 7515) by one of its public keys.
//!
//! Idea: the provider's keys are a file (a JSON Web Key Set, RFC 7517) that the operator fetches; the server contacts no other server. A token names
//! its bearer by one claim; the user of this name must exist, and has its local roles. Invariants: only algorithms with public keys are accepted, and
//! only the one that the key is for; a token without an expiry is refused; unknown forms are refused. Nothing of a token is ever logged.

use data_encoding::BASE64URL_NOPAD;
use parking_lot::Mutex;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a token.
const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Bytes of a file of keys.
const KEYS_BYTES_MAX: u64 = 1 << 20;
/// Keys of a provider.
const KEYS_MAX: usize = 100;
/// The accepted tokens, and their required claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtOptions {
    /// File of the provider's public keys.
    pub keys: PathBuf,
    /// `iss` of its tokens.
    pub issuer: String,
    /// One of `aud` of tokens that are meant for this server.
    pub audience: String,
    /// The claim that names the user.
    pub user_claim: String,
    /// Time by which the clocks of provider and server may differ: a token is good so long after its end, and before its beginning.
    pub leeway: Duration,
}

/// Looks at tokens of one provider.
pub struct JwtVerifier {
    options: JwtOptions,
    keys: Mutex<Arc<[ProviderKey]>>,
}

/// The claims of a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtBearer {
    /// The user's name.
    pub user: String,
    /// When it ends, in milliseconds since 1970, by the clock of this server.
    pub until_ms: u64,
}

struct ProviderKey {
    id: Option<String>,
    algorithm: Option<String>,
    material: KeyMaterial,
}

enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point, uncompressed.
    Curve {
        name: &'static str,
        point: Vec<u8>,
    },
}

impl std::fmt::Debug for JwtVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JwtVerifier").field("options", &self.options).finish_non_exhaustive()
    }
}

impl JwtVerifier {
    /// Reads the keys.
    ///
    /// # Errors
    /// The file cannot be read or holds no key that can be used.
    pub fn open(options: JwtOptions) -> Result<JwtVerifier, String> {
        let keys = Mutex::new(read_keys(&options.keys)?);
        Ok(JwtVerifier { options, keys })
    }
    /// Reads the keys anew; where that fails, those before stay.
    ///
    /// # Errors
    /// As [`JwtVerifier::open`].
    pub fn reload(&self) -> Result<(), String> {
        let keys = read_keys(&self.options.keys)?;
        *self.keys.lock() = keys;
        Ok(())
    }
    /// The bearer of a token, at this time in milliseconds since 1970.
    ///
    /// # Errors
    /// It is invalid; the error says why, without repeating any of it.
    pub fn look(&self, token: &str, now_ms: u64) -> Result<JwtBearer, &'static str> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err("the token is too long");
        }
        let mut parts = token.split('.');
        let (Some(head), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("the token has not three parts");
        };
        let signed = &token[..head.len() + 1 + claims.len()];
        let head = json(head)?;
        if head.get("crit").is_some() {
            return Err("the token asks for what is not understood");
        }
        let algorithm = head.get("alg").and_then(Json::as_str).ok_or("the token names no algorithm")?;
        let id = head.get("kid").and_then(Json::as_str);
        let signature =
            BASE64URL_NOPAD.decode(signature.as_bytes()).map_err(|_| "the signature is not readable")?;
        let keys = self.keys.lock().clone();
        let mut candidates = keys.iter().filter(|key| key.serves(id, algorithm)).peekable();
        if candidates.peek().is_none() {
            return Err("the token is signed by a key, or in a way, that is not known");
        }
        if !candidates.any(|key| key.has_signed(algorithm, signed.as_bytes(), &signature)) {
            return Err("the signature of the token is wrong");
        }
        self.judge(&json(claims)?, now_ms)
    }

    fn judge(&self, claims: &Json, now_ms: u64) -> Result<JwtBearer, &'static str> {
        let leeway_ms = self.options.leeway.as_millis() as u64;
        let milliseconds = |claim: &str| {
            let seconds = |value: &Json| value.as_f64().filter(|s| s.is_finite() && *s >= 0.0);
            claims.get(claim).map(|value| seconds(value).map(|seconds| (seconds * 1_000.0) as u64))
        };
        let until_ms = match milliseconds("exp") {
            Some(Some(until_ms)) => until_ms.saturating_add(leeway_ms),
            _ => return Err("the token does not say when it ends"),
        };
        if now_ms >= until_ms {
            return Err("the token has expired");
        }
        match milliseconds("nbf") {
            Some(Some(from_ms)) if from_ms > now_ms.saturating_add(leeway_ms) => {
                return Err("the token is not good yet");
            }
            Some(None) => return Err("the token has a beginning that cannot be read"),
            _ => {}
        }
        if claims.get("iss").and_then(Json::as_str) != Some(&self.options.issuer) {
            return Err("the token is of another provider");
        }
        let is_ours = |one: &Json| one.as_str() == Some(&self.options.audience);
        let is_meant = match claims.get("aud") {
            Some(Json::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if !is_meant {
            return Err("the token is not meant for this server");
        }
        let user =
            claims.get(&self.options.user_claim).and_then(Json::as_str).filter(|user| !user.is_empty());
        let user = user.ok_or("the token does not name a user")?.to_string();
        Ok(JwtBearer { user, until_ms })
    }
}

fn json(part: &str) -> Result<Json, &'static str> {
    let bytes = BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| "the token is not readable")?;
    let json: Json = serde_json::from_slice(&bytes).map_err(|_| "the token is not readable")?;
    if json.is_object() { Ok(json) } else { Err("the token is not readable") }
}

fn read_keys(path: &Path) -> Result<Arc<[ProviderKey]>, String> {
    let shown = path.display();
    let size = world::files::size_bytes(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if size > KEYS_BYTES_MAX {
        return Err(format!("{shown} has more than {KEYS_BYTES_MAX} bytes"));
    }
    let text = world::files::read_text(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let json: Json = serde_json::from_str(&text).map_err(|error| format!("{shown} is no JSON: {error}"))?;
    let all =
        json.get("keys").and_then(Json::as_array).ok_or_else(|| format!("{shown} has no list `keys`"))?;
    // Keys for other ends, and of kinds that are not used here, may stand beside them.
    let keys: Vec<ProviderKey> = all.iter().take(KEYS_MAX).filter_map(ProviderKey::of).collect();
    if keys.is_empty() {
        return Err(format!("{shown} has no key for signatures of the kinds RSA, P-256, P-384 or Ed25519"));
    }
    Ok(keys.into())
}

impl ProviderKey {
    fn of(json: &Json) -> Option<ProviderKey> {
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let bytes = |name: &str| BASE64URL_NOPAD.decode(text(name)?.as_bytes()).ok();
        if text("use").is_some_and(|end| end != "sig") {
            return None;
        }
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == length && y.len() == length).then(|| [&[4], &x[..], &y[..]].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => KeyMaterial::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => KeyMaterial::Curve { name: "ES256", point: point(32)? },
            ("EC", Some("P-384")) => KeyMaterial::Curve { name: "ES384", point: point(48)? },
            ("OKP", Some("Ed25519")) => KeyMaterial::Curve { name: "EdDSA", point: bytes("x")? },
            _ => return None,
        };
        Some(ProviderKey {
            id: text("kid").map(Into::into),
            algorithm: text("alg").map(Into::into),
            material,
        })
    }
    /// Is it a key for a token that names this key, or none, and this algorithm?
    fn serves(&self, id: Option<&str>, algorithm: &str) -> bool {
        let is_named = id.is_none() || self.id.as_deref() == id;
        let is_for = self.algorithm.as_deref().is_none_or(|own| own == algorithm);
        let is_of_kind = match &self.material {
            KeyMaterial::Rsa { .. } => rsa(algorithm).is_some(),
            KeyMaterial::Curve { name, .. } => *name == algorithm,
        };
        is_named && is_for && is_of_kind
    }
    fn has_signed(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            KeyMaterial::Rsa { n, e } => rsa(algorithm)
                .is_some_and(|how| RsaPublicKeyComponents { n, e }.verify(how, message, signature).is_ok()),
            KeyMaterial::Curve { name, point } => {
                let how: &'static dyn VerificationAlgorithm = match *name {
                    "ES256" => &ECDSA_P256_SHA256_FIXED,
                    "ES384" => &ECDSA_P384_SHA384_FIXED,
                    _ => &ED25519,
                };
                UnparsedPublicKey::new(how, point).verify(message, signature).is_ok()
            }
        }
    }
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &RSA_PSS_2048_8192_SHA256,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
