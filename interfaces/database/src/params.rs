//! Parameters of a request.

use model::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Values by the names that the text uses, without the dollar sign.
pub type Params = HashMap<Arc<str>, Value>;

/// `params! { "name" => "Ada", "age" => 36 }`
#[macro_export]
macro_rules! params {
    ($($name:expr => $value:expr),* $(,)?) => {{
        #[allow(unused_mut, reason = "no parameter is fine")]
        let mut params = $crate::Params::new();
        $(params.insert($name.into(), $crate::Value::from($value));)*
        params
    }};
}
