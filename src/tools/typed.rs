//! A call read as an externally tagged enum: the name is the variant, the arguments are its content.

use std::cell::{Cell, RefCell};

use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, IgnoredAny, MapAccess, VariantAccess,
    Visitor,
};
use serde_json::{Map, Value};

use super::feedback::{Refusal, RefusalKind};
use crate::arguments::ArgumentsState;
use crate::call::ToolCall;
use crate::json::Given;

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
        let read = |content| {
            T::deserialize(Given(Call {
                call: self,
                content,
                variants: &variants,
            }))
        };
        // A text that repeats a key, which serde refuses; its object has the last one.
        let read = read(content).or_else(|error| match self.arguments().object() {
            Ok(object) if variants.known.get() => read(Content::Object(object)),
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
            Content::Object(object) => seed.deserialize(Given(object)),
            Content::Text(text) => seed.deserialize(Given(BorrowedStrDeserializer::new(text))),
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
        visitor.visit_map(Member {
            name: Some(self.call.name()),
            content: self.content,
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The call as the one member of a map.
struct Member<'a> {
    name: Option<&'a str>,
    content: Content<'a>,
}

impl<'a> MapAccess<'a> for Member<'a> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let name = self.name.take().map(BorrowedStrDeserializer::new);
        name.map(|name| seed.deserialize(Given(name))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        self.content.read(seed)
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
        self.read(Fields(visitor))
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.read(Fields(visitor))
    }
}

/// The fields of a variant, whatever holds them.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, content: D) -> Result<V::Value, D::Error> {
        content.deserialize_any(self.0)
    }
}
