//! Authentication: the gate that demands a name and a password. Users are stored in the graph's catalogue, see [`database::Users`].

mod gate;
mod jwt;

pub use database::{ATTEMPTS_MAX, LOCK_TIME, Users, UsersError};
pub use gate::Gate;
pub use jwt::{JwtBearer, JwtOptions, JwtVerifier};
