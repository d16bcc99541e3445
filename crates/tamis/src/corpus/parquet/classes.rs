//! Names of numbered classes: Hugging Face's data sets store labels as numbers and their names in the file's metadata.

use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::FileMetaData;
use serde_json::Value;

/// The key under which the features of a data set are described.
const KEY: &str = "huggingface";

/// The names of the classes of a column, by number; empty where the file gives none.
pub(super) fn class_names(metadata: &FileMetaData, column: &str) -> Vec<String> {
    // Some writers leave the description in the embedded Arrow schema only; this reads both places.
    let schema = parquet_to_arrow_schema(metadata.schema_descr(), metadata.key_value_metadata());
    let described = schema.ok().and_then(|schema| schema.metadata().get(KEY).cloned());
    let described = described.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    described.and_then(|all| names(&all["info"]["features"][column])).unwrap_or_default()
}

/// The names of a feature that is a class, or a list of them.
fn names(feature: &Value) -> Option<Vec<String>> {
    match feature {
        Value::Array(items) => names(items.first()?),
        Value::Object(object) if object.get("_type").is_some_and(|kind| kind == "ClassLabel") => {
            let names = object.get("names")?.as_array()?;
            names.iter().map(|name| name.as_str().map(str::to_owned)).collect()
        }
        Value::Object(object) => names(object.get("feature")?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_alone_and_in_lists() {
        let class = r#"{"names": ["neg", "pos"], "_type": "ClassLabel"}"#;
        for feature in [
            class.to_owned(),
            format!("[{class}]"),
            format!(r#"{{"feature": {class}, "length": -1, "_type": "Sequence"}}"#),
            format!(r#"{{"feature": {class}, "_type": "List"}}"#),
        ] {
            assert_eq!(names(&serde_json::from_str(&feature).unwrap()).unwrap(), ["neg", "pos"], "{feature}");
        }
        for other in [r#"{"dtype": "int64", "_type": "Value"}"#, "null", "[]", r#"{"_type": "ClassLabel"}"#] {
            assert_eq!(names(&serde_json::from_str(other).unwrap()), None, "{other}");
        }
    }
}
