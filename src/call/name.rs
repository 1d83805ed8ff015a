//! A tool's name.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// A tool's name: never empty. Nothing else is asked of it: providers differ in what they allow.
///
/// # Examples
///
/// ```
/// use callstitch::ToolName;
///
/// let name = ToolName::new("search")?;
/// assert_eq!(name, "search");
/// assert!(ToolName::new("").is_err());
/// assert_eq!(name.as_str().len(), name.clone().into_string().len());
/// # Ok::<(), callstitch::EmptyToolName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ToolName(String);

/// A tool's name was empty.
///
/// # Examples
///
/// ```
/// use callstitch::ToolName;
///
/// assert_eq!(ToolName::new("").unwrap_err().to_string(), "a tool's name is not empty");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyToolName(());

impl ToolName {
    /// The name.
    ///
    /// # Errors
    ///
    /// [`EmptyToolName`] where it is empty.
    pub fn new(name: impl Into<String>) -> Result<Self, EmptyToolName> {
        let name = name.into();
        if name.is_empty() {
            return Err(EmptyToolName(()));
        }
        Ok(ToolName(name))
    }

    /// The text. Free.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned. Free.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for ToolName {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl FromStr for ToolName {
    type Err = EmptyToolName;

    fn from_str(name: &str) -> Result<Self, EmptyToolName> {
        ToolName::new(name)
    }
}

impl TryFrom<&str> for ToolName {
    type Error = EmptyToolName;

    fn try_from(name: &str) -> Result<Self, EmptyToolName> {
        ToolName::new(name)
    }
}

impl TryFrom<String> for ToolName {
    type Error = EmptyToolName;

    fn try_from(name: String) -> Result<Self, EmptyToolName> {
        ToolName::new(name)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ToolName::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for EmptyToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool's name is not empty")
    }
}

impl std::error::Error for EmptyToolName {}
