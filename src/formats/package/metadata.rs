//! `metadata.json` of a model in Model Library Format: which model it is, and where its files lie, which has changed with the versions.

use crate::base::text::{escape_control, join_words};
use crate::diag::{Diagnostic, codes};
use crate::formats::json::{Json, Object};

/// The last version that TVM writes, up to 0.19.
const LAST_VERSION: u64 = 7;

/// What the file says.
pub struct Metadata {
    version: u64,
    /// The name of the model, after which files are called.
    model: String,
    /// `graph`, `aot`, …
    executors: Vec<String>,
}

impl Metadata {
    /// Errors: E0703 for what is not sound or of an unknown version, E0726 for what holds no program, or several.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Metadata, Diagnostic> {
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

    /// Where the program may be.
    pub fn text_files(&self) -> Vec<String> {
        vec![format!("src/{}.relay", self.model), "src/relay.txt".to_owned(), "relay.txt".to_owned()]
    }

    /// Where the graph may be.
    pub fn graph_files(&self) -> Vec<String> {
        let folders = ["executor-config", "runtime-config"];
        let named = format!("executor-config/graph/{}.graph", self.model);
        [named].into_iter().chain(folders.map(|folder| format!("{folder}/graph/graph.json"))).collect()
    }

    pub fn summary(&self) -> String {
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
