//! A call read as an externally tagged enum: the name is the variant, the arguments are its content.

use std::cell::{Cell, RefCell};

use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, IntoDeserializer,
    VariantAccess, Visitor,
};
use serde_json::{Map, Value};

use super::feedback::{Refusal, RefusalKind};
use crate::arguments::ArgumentsState;
use crate::call::ToolCall;

impl ToolCall {
    /// The call as your own enum, externally tagged as serde has it by default: the name is the variant, the arguments its
    /// content, which may borrow from the call. A variant with fields takes an object; a unit variant any object; a variant
    /// around a `String` or `&str` a custom tool's text. Cost: O(n).
    ///
    /// # Errors
    ///
    /// A [`Refusal`], which says what to answer: the call is flagged, or its provider runs it; the enum has no such variant
    /// ([`RefusalKind::UnknownTool`], with the variants it has); or the arguments do not fit the variant
    /// ([`RefusalKind::Mismatch`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use callstitch::{RefusalKind, ToolCall, ToolName};
    ///
    /// #[derive(serde::Deserialize)]
    /// #[serde(rename_all = "snake_case")]
    /// enum Ask<'a> {
    ///     GetTide { port: &'a str },
    ///     GetTime,
    /// }
    ///
    /// let call = ToolCall::new(ToolName::new("get_tide")?, r#"{"port":"Oban"}"#);
    /// assert!(matches!(call.resolve(), Ok(Ask::GetTide { port: "Oban" })));
    ///
    /// let call = ToolCall::new(ToolName::new("get_tides")?, "{}");
    /// let refusal = call.resolve::<Ask>().err().unwrap();
    /// assert_eq!(refusal.kind(), RefusalKind::UnknownTool);
    /// assert_eq!(refusal.nearest(), Some("get_tide"));
    /// # Ok::<(), callstitch::EmptyToolName>(())
    /// ```
    pub fn resolve<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Refusal> {
        if self.is_builtin() {
            return Err(Refusal::new(RefusalKind::ProviderExecuted, self));
        }
        if self.is_provider_native() {
            return Err(Refusal::new(RefusalKind::ProviderNative, self));
        }
        // The name first: a model that asked for what is not there need not repair its arguments.
        let variants = Variants::default();
        let content = Content::of(self);
        let read = T::deserialize(Call {
            call: self,
            content,
            variants: &variants,
        });
        // A text that repeats a key, which serde refuses; its object has the last one.
        let read = read.or_else(|error| match self.arguments().object() {
            Ok(object) if variants.known.get() => T::deserialize(Call {
                call: self,
                content: Content::Object(object),
                variants: &variants,
            }),
            _ => Err(error),
        });
        let flagged = Refusal::of_state(self);
        match read {
            Ok(value) => flagged.map_or(Ok(value), Err),
            Err(_) if !variants.known.get() && self.tool_name().is_some() => {
                Err(Refusal::unknown(self, variants.names.take().into_iter()))
            }
            Err(error) => Err(flagged.unwrap_or_else(|| {
                Refusal::mismatch(self, vec![without_place(&error.to_string())])
            })),
        }
    }
}

/// serde_json's words end in a line and a column of a text that the model does not see as lines.
fn without_place(words: &str) -> String {
    let end = words.rfind(" at line ").unwrap_or(words.len());
    words.get(..end).unwrap_or(words).to_owned()
}

/// What the enum said of its variants.
#[derive(Default)]
struct Variants {
    names: RefCell<Vec<&'static str>>,
    /// The call's name is one of them.
    known: Cell<bool>,
}

/// The content of the variant.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// An object's text, which has every digit and can be borrowed from.
    Json(&'a str),
    Object(&'a Map<String, Value>),
    Text(&'a str),
    /// Flagged: only the variant is asked.
    Nothing,
}

impl<'a> Content<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let arguments = call.arguments();
        match (arguments.state(), arguments.text()) {
            (ArgumentsState::FreeForm, _) => Content::Text(arguments.raw()),
            (_, Some(text)) => Content::Json(text),
            _ => Content::Nothing,
        }
    }

    fn read<T, S: DeserializeSeed<'a, Value = T>>(self, seed: S) -> Result<T, serde_json::Error> {
        match self {
            Content::Json(text) => seed.deserialize(&mut serde_json::Deserializer::from_str(text)),
            Content::Object(object) => seed.deserialize(object),
            Content::Text(text) => seed.deserialize(BorrowedStrDeserializer::new(text)),
            Content::Nothing => Err(serde_json::Error::custom("the arguments are flagged")),
        }
    }
}

/// The call as a deserialiser.
struct Call<'a, 'v> {
    call: &'a ToolCall,
    content: Content<'a>,
    variants: &'v Variants,
}

impl<'de> Deserializer<'de> for Call<'de, '_> {
    type Error = serde_json::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.variants.names.borrow_mut() = variants.to_vec();
        visitor.visit_enum(self)
    }

    /// Types that are no enum, such as maps by name, see the one member that the call is.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.variants.known.set(true);
        let name: BorrowedStrDeserializer<'_, serde_json::Error> =
            BorrowedStrDeserializer::new(self.call.name());
        let member = std::iter::once((NameOnly(name), self.content));
        visitor.visit_map(MapDeserializer::new(member))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct NameOnly<'a>(BorrowedStrDeserializer<'a, serde_json::Error>);

impl<'a> IntoDeserializer<'a, serde_json::Error> for NameOnly<'a> {
    type Deserializer = BorrowedStrDeserializer<'a, serde_json::Error>;

    fn into_deserializer(self) -> Self::Deserializer {
        self.0
    }
}

impl<'a> IntoDeserializer<'a, serde_json::Error> for Content<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Content<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Content::Json(text) => {
                serde_json::Deserializer::from_str(text).deserialize_any(visitor)
            }
            Content::Object(object) => object.deserialize_any(visitor),
            Content::Text(text) => visitor.visit_borrowed_str(text),
            Content::Nothing => Err(serde_json::Error::custom("the arguments are flagged")),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'a> EnumAccess<'a> for Call<'a, '_> {
    type Error = serde_json::Error;
    type Variant = Content<'a>;

    fn variant_seed<V: DeserializeSeed<'a>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), Self::Error> {
        let name: BorrowedStrDeserializer<'_, Self::Error> =
            BorrowedStrDeserializer::new(self.call.name());
        let variant = seed.deserialize(name)?;
        self.variants.known.set(true);
        Ok((variant, self.content))
    }
}

impl<'a> VariantAccess<'a> for Content<'a> {
    type Error = serde_json::Error;

    fn unit_variant(self) -> Result<(), Self::Error> {
        self.read(std::marker::PhantomData::<IgnoredAny>).map(drop)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(
        self,
        seed: T,
    ) -> Result<T::Value, Self::Error> {
        self.read(seed)
    }

    fn tuple_variant<V: Visitor<'a>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserialize_any(visitor)
    }
}
