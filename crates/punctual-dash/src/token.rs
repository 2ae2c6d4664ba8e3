//! The token that changes need: made from the system's randomness, compared in constant time, never printed by `Debug`.

use crate::DashError;
use std::fmt;
use std::sync::Arc;

/// Shorter ones can be guessed.
const SHORTEST: usize = 16;

/// A secret, and the name of the cookie it is kept in.
#[derive(Clone)]
pub(crate) struct Token {
    text: Arc<str>,
    /// Cookies are shared by all ports of a host: two dashboards must not overwrite each other's.
    cookie: Arc<str>,
}

impl Token {
    pub(crate) fn random() -> Result<Token, DashError> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            DashError::new(
                "token",
                "(none)",
                format!("the system gives no random bytes: {error}"),
                "give one with token(..)",
            )
        })?;
        Ok(Token::new(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    pub(crate) fn chosen(text: &str) -> Result<Token, DashError> {
        let hidden = format!("({} characters)", text.chars().count());
        if text.len() < SHORTEST {
            return Err(DashError::new(
                "token",
                hidden,
                format!("it is shorter than {SHORTEST} characters"),
                "take a longer one, or none: one is made",
            ));
        }
        if !text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
        {
            return Err(DashError::new(
                "token",
                hidden,
                "it has characters that do not fit into an address or a cookie",
                "use letters, digits and -_.~",
            ));
        }
        Ok(Token::new(text.to_owned()))
    }

    fn new(text: String) -> Token {
        let mark = crate::assets::fingerprint(&[&text, "cookie"]);
        Token {
            cookie: format!("punctual-{:08x}", mark as u32).into(),
            text: text.into(),
        }
    }

    /// Takes as long for a token that is nearly right as for any other of its length.
    pub(crate) fn is(&self, other: &str) -> bool {
        let (mine, theirs) = (self.text.as_bytes(), other.as_bytes());
        let mut differs = u8::from(mine.len() != theirs.len());
        for (index, byte) in mine.iter().enumerate() {
            differs |= byte ^ theirs.get(index).copied().unwrap_or_default();
        }
        std::hint::black_box(differs) == 0
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cookie_name(&self) -> &str {
        &self.cookie
    }

    /// No path is given: the browser takes the folder it asked in, which is right behind a proxy too.
    pub(crate) fn set_cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict", self.cookie, self.text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}
