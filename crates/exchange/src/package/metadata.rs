//! Reads `metadata.json` of a model in Model Library Format: the model's name, and the locations of its files, which differ
//! between versions.

use crate::json::{Json, Object};
use relayc_base::diag::{Diagnostic, codes};
use relayc_base::text::{escape_control, join_words};

/// The last version that TVM writes, up to 0.19.
const LAST_VERSION: u64 = 7;

/// The content of the file.
pub(crate) struct Metadata {
    version: u64,
    /// The name of the model, which file names contain.
    model: String,
    /// `graph`, `aot`, …
    executors: Vec<String>,
}

impl Metadata {
    /// Reads the file. Errors: E0703 for an unsound file or an unknown version, E0726 for no program, or several.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Metadata, Diagnostic> {
        let json = Json::new(name, bytes)?;
        let top = json.object("object")?;
        let at = top.need("version")?;
        let version: u64 = at.read("version")?;
        if version == 0 || version > LAST_VERSION {
            return Err(at.error(format_args!("version {version} of Model Library Format, relayc reads 1 to {LAST_VERSION}")));
        }
        // From version 7 on there may be several.
        let one = match top.get("modules") {
            Some(modules) => one_of(name, modules.object("object of models")?)?,
            None => top,
        };
        let text = |key: &str| one.get(key).map(|value| value.read::<String>("string")).transpose();
        if text("style")?.is_some_and(|style| style == "operator") {
            return Err(Diagnostic::new(codes::E0726, format!("`{name}` describes a compiled operator, not a program"))
                .help("relayc reads models, which `tvm.relay.build` makes"));
        }
        let at = one.need("model_name")?;
        let model: String = at.read("name")?;
        if model.contains(['/', '\\', '\0']) || model == ".." {
            return Err(at.error("a name that cannot be a file's"));
        }
        // Called so from version 5 on.
        let executors = one.get("executors").or(one.get("runtimes"));
        let executors = executors.map(|list| list.read("list of names")).transpose()?.unwrap_or_default();
        Ok(Metadata { version, model, executors })
    }

    /// Possible locations of the program.
    pub(crate) fn text_files(&self) -> Vec<String> {
        vec![format!("src/{}.relay", self.model), "src/relay.txt".to_owned(), "relay.txt".to_owned()]
    }

    /// Possible locations of the graph.
    pub(crate) fn graph_files(&self) -> Vec<String> {
        let folders = ["executor-config", "runtime-config"];
        let named = format!("executor-config/graph/{}.graph", self.model);
        [named].into_iter().chain(folders.map(|folder| format!("{folder}/graph/graph.json"))).collect()
    }

    pub(crate) fn summary(&self) -> String {
        let executors: Vec<String> = self.executors.iter().map(|name| escape_control(name).into_owned()).collect();
        let model = escape_control(&self.model);
        let executors = join_words(&executors, "and");
        let executors = if executors.is_empty() { executors } else { format!(", for executor {executors}") };
        format!("Model Library Format {}: model `{model}`{executors}\n", self.version)
    }
}

fn one_of<'a>(name: &str, models: Object<'a>) -> Result<Object<'a>, Diagnostic> {
    let all: Vec<(&str, Json)> = models.iter().collect();
    match all[..] {
        [(_, model)] => model.object("model"),
        _ => {
            let names: Vec<String> = all.iter().map(|(name, _)| format!("`{}`", escape_control(name))).collect();
            Err(Diagnostic::new(codes::E0726, format!("`{name}` describes {} models: {}", all.len(), join_words(&names, "and")))
                .help("relayc reads archives of one model: save each in its own"))
        }
    }
}
