//! Who may come in: the gate that asks for a name and a password. Users are kept in the graph's catalogue, see [`database::Users`].

mod gate;
mod jwt;

pub use database::{Users, UsersError};
pub use gate::{ATTEMPTS_MAX, Gate, LOCK_TIME};
pub use jwt::{JwtBearer, JwtOptions, JwtVerifier};
