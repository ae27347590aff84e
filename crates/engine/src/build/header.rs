//! Writes the C header of an artifact: documents its functions, and defines its inputs and outputs as constants.

use relayc_exec::aot::image_writer::{ImageFacts, Port, Size};
use relayc_runtime::layout::ABI_VERSION;
use std::fmt::Write;

/// The header of a program called `name`.
pub(crate) fn text(name: &str, facts: &ImageFacts) -> String {
    let prefix = macro_name(name);
    let mut out = format!(
        "/* {name}: `@{}` as a shared object, written by relayc. Load it only if you trust who built it: it is code.\n *\n",
        one_line(facts.entry)
    );
    let tensors = tensors(facts);
    for (what, ports) in &tensors {
        let mut shapes: Vec<String> = vec![];
        for port in ports {
            let shape = format!("{:?}", port.shape);
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        let at_most = if ports[0].is_open { " at most" } else { "" };
        let _ = writeln!(out, " * {what} `{}`: {} {}{at_most}", one_line(&ports[0].name), ports[0].dtype, shapes.join(" or "));
    }
    if facts.sizes.len() > 1 {
        let names: Vec<&str> = facts.sizes.iter().map(|size| size.name.as_str()).collect();
        let _ = writeln!(out, " * sizes: {}", one_line(&names.join(", ")));
    }
    let at_most = if facts.sizes.len() > 1 { ", at the size where they are most" } else { "" };
    let _ = write!(out, " */\n#ifndef RELAYC_{prefix}_H\n#define RELAYC_{prefix}_H\n\n/* Bytes of the tensors{at_most}. */\n");
    let mut known: Vec<String> = vec![];
    for (what, ports) in &tensors {
        let name = format!("{prefix}_{}_{}_BYTES", what.to_ascii_uppercase(), macro_name(&ports[0].name));
        let bytes = ports.iter().map(|port| port.bytes).max().unwrap_or(0);
        // Two names may be one as a macro: later ones get a number, and say whose they are.
        let names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{name}_{n}")));
        let free = names.into_iter().find(|name| !known.contains(name)).unwrap_or_default();
        let whose = if free == name { String::new() } else { format!(" /* `{}` */", one_line(&ports[0].name)) };
        let _ = writeln!(out, "#define {free} {bytes}{whose}");
        known.push(free);
    }
    out.push_str(&FUNCTIONS.replace("@VERSION@", &ABI_VERSION.to_string()));
    let _ = writeln!(out, "\n#endif /* RELAYC_{prefix}_H */");
    out
}

/// Each input and output, at every size.
fn tensors<'a>(facts: &ImageFacts<'a>) -> Vec<(&'static str, Vec<&'a Port>)> {
    let n = |of: fn(&Size) -> &Vec<Port>| facts.sizes.first().map_or(0, |size| of(size).len());
    let inputs = (0..n(|size| &size.inputs)).map(|at| ("input", facts.sizes.iter().map(|size| &size.inputs[at]).collect()));
    let outputs = (0..n(|size| &size.outputs)).map(|at| ("output", facts.sizes.iter().map(|size| &size.outputs[at]).collect()));
    inputs.chain(outputs).collect()
}

/// The name in capitals, digits and `_`.
fn macro_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("N{name}") } else { name }
}

/// The name inside a comment, which it must not end.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().replace("*/", "* /").replace("/*", "/ *")
}

/// The part that all artifacts share, so a C file may include the headers of several.
const FUNCTIONS: &str = r#"
#ifndef RELAYC_H
#define RELAYC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of what is declared here; relayc_abi_version() gives that of the shared object. */
#define RELAYC_ABI_VERSION @VERSION@

/* What functions answer. Everything but RELAYC_OK is a failure, which changes nothing but relayc_error(); only after
   RELAYC_FAILED there are no outputs, until a run gives results again. */
typedef enum relayc_status {
  RELAYC_OK = 0,
  RELAYC_MEMORY = 1,  /* no memory */
  RELAYC_MACHINE = 2, /* this processor lacks the instructions */
  RELAYC_NAME = 3,    /* no such input or output */
  RELAYC_SIZE = 4,    /* a buffer or a shape is not that of its tensor, or there is no code for these shapes */
  RELAYC_MISSING = 5, /* an input has not been set, or no run has given results */
  RELAYC_FAILED = 6,  /* an operator failed: an index out of range, for instance */
  RELAYC_USAGE = 7    /* a pointer is null */
} relayc_status;

/* The program with the memory and the threads of its runs. Instances share code and weights and are independent of each other;
   one of them is used by one thread at a time. After fork() the child has none of the threads: it makes instances of its own. */
typedef struct relayc_net relayc_net;

/* How an instance is made. Zeros, or no options at all, are what is usual. */
typedef struct relayc_options {
  uint32_t threads; /* 0: as many as there are cores; results are the same for any number */
  uint32_t level;   /* 3: the code for x86-64-v3, 4: that for x86-64-v4, 0: the best that runs here */
} relayc_options;

/* An input or an output: elements in order, the last axis fastest. What is pointed at stays as long as the shared object. Of an
   output whose shape data decides, relayc_output() gives the largest one, and relayc_result() that of the last run, which is at
   `shape` until the next run. */
typedef struct relayc_tensor {
  const char *name;
  const char *dtype; /* as in Relay: float32, int64, bool, ... */
  size_t bytes;
  size_t rank;
  const uint64_t *shape;
} relayc_tensor;

/* Every program that relayc builds defines these functions. Of two in one process, each is loaded with dlopen() and RTLD_LOCAL, and
   dlsym() gives the functions of each; of two that are linked, calls reach the first. */
uint32_t relayc_abi_version(void);

/* Makes an instance. Its threads have the signal mask of the caller. */
relayc_status relayc_create(relayc_net **net, const relayc_options *options);
/* Ends its threads and gives back its memory; NULL is fine. */
void relayc_destroy(relayc_net *net);

/* Copies a tensor into the instance. It stays set for all runs that follow. Where an input has one of several shapes, its bytes say
   which, unless two of them have as many. */
relayc_status relayc_set_input(relayc_net *net, const char *name, const void *data, size_t bytes);
/* The same for a tensor of a shape. */
relayc_status relayc_set_input_shape(relayc_net *net, const char *name, const void *data, const uint64_t *shape, size_t rank);
/* Runs the program once, with the code for the shapes of its inputs. */
relayc_status relayc_run(relayc_net *net);
/* An output as the last run gave it: its shape and its bytes. */
relayc_status relayc_result(relayc_net *net, size_t index, relayc_tensor *tensor);
/* Copies out what the last run gave; RELAYC_MISSING where none has given anything, or the last one failed. */
relayc_status relayc_get_output(relayc_net *net, const char *name, void *data, size_t bytes);

/* What went wrong last, in words; empty if nothing did. Good until the next call with this instance. */
const char *relayc_error(const relayc_net *net);
/* What a status means. */
const char *relayc_status_text(relayc_status status);

/* The signature: RELAYC_NAME where there are no more. Of several sizes it is that of the first. */
size_t relayc_n_inputs(void);
size_t relayc_n_outputs(void);
relayc_status relayc_input(size_t index, relayc_tensor *tensor);
relayc_status relayc_output(size_t index, relayc_tensor *tensor);

/* The sizes that there is code for, such as "batch=4 seq=16"; without any, one whose name is empty. NULL and RELAYC_NAME where there
   are no more. */
size_t relayc_n_sizes(void);
const char *relayc_size(size_t size);
relayc_status relayc_input_at(size_t size, size_t index, relayc_tensor *tensor);
relayc_status relayc_output_at(size_t size, size_t index, relayc_tensor *tensor);

/* The Relay text that the program was built from, and its graph as the JSON of TVM's graph executor, empty where that cannot run
   it; `bytes`, unless NULL, gets the length. */
const char *relayc_source(size_t *bytes);
const char *relayc_graph_json(size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* RELAYC_H */
"#;
