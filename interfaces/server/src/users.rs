//! Who may come in: the gate that asks for a name and a password. Users are kept in the graph's catalogue, see [`database::Users`].

mod gate;
mod jwt;

pub use database::{ATTEMPTS_MAX, LOCK_TIME, Users, UsersError};
pub use gate::Gate;
pub use jwt::{JwtBearer, JwtOptions, JwtVerifier};
