//! The table of all diagnostic codes: one line for each kind of mistake, and one page in `explain/` for each.
//!
//! A code is a kind of mistake, not an operator: a note names the broken rule of the operator. Codes are never reused and never
//! renumbered. The first digits are the phase: `E00` lexing, `E01` parsing, `E02` names, `E03` types and shapes, `E04` attributes
//! and operator rules, `E05` run time, `E06` planning, `E07` files, `E08` limits, `E09` our bugs.

/// A kind of mistake.
#[derive(Clone, Copy)]
pub struct Code(&'static Entry);

struct Entry {
    id: &'static str,
    title: &'static str,
    page: &'static str,
}

impl Code {
    /// The code as text: `E0301`.
    pub fn id(self) -> &'static str {
        self.0.id
    }

    /// The kind of mistake in a few words.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The page `relayc explain` prints.
    pub fn page(self) -> &'static str {
        self.0.page
    }

    /// Finds the code with this name, ignoring case.
    pub fn find(id: &str) -> Option<Code> {
        ALL.iter().copied().find(|code| code.id().eq_ignore_ascii_case(id))
    }

    /// The exit code of the process if this error stops it while it reads a program's text.
    ///
    /// A limit (`E08`) belongs to the phase that it stops. A caller that stops another phase sets the exit code itself.
    pub fn exit_code(self) -> u8 {
        match &self.id()[..3] {
            // The program ran; what it should have given is the user's word.
            _ if self == E0507 || self == E0508 => 1,
            "E05" | "E06" => 3,
            "E07" => 2,
            "E09" => 101,
            _ => 1,
        }
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Code {}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

macro_rules! codes {
    ($($id:ident $title:literal;)*) => {
        $(
            #[doc = $title]
            pub const $id: Code = Code(&Entry {
                id: stringify!($id),
                title: $title,
                page: include_str!(concat!("explain/", stringify!($id), ".md")),
            });
        )*
        /// Every code, in order.
        pub const ALL: &[Code] = &[$($id),*];
    };
}

codes! {
    E0001 "a character that starts no token";
    E0002 "a number that is not a literal";
    E0003 "a block comment without an end";
    E0004 "a string without an end";
    E0005 "bytes that are not UTF-8";
    E0006 "a section that is not known";
    E0008 "a custom dtype";

    E0101 "a token that does not fit here";
    E0102 "no program in the file";
    E0103 "a bracket without its partner";
    E0104 "an `if` without `else`";
    E0105 "a construct that is not supported";
    E0106 "a version other than 0.0.5";

    E0201 "a local variable that is not defined";
    E0202 "a function that is not defined";
    E0203 "a graph variable that is not defined";
    E0204 "an operator that does not exist";
    E0205 "two definitions of one name";
    E0206 "a dtype that does not exist";
    E0207 "a metadata entry that does not exist";
    E0208 "a variable that no function binds";
    E0209 "a metadata section that is not sound";
    E0210 "a constructor that does not exist";

    E0301 "two types that disagree";
    E0302 "a wrong number of arguments";
    E0303 "a tensor of the wrong rank";
    E0304 "shapes that do not broadcast";
    E0305 "a dtype that does not fit";
    E0306 "a type that cannot be inferred";
    E0307 "a projection that does not fit";
    E0308 "operand shapes that do not fit an operator";
    E0309 "a call of something that is not a function";
    E0310 "a dimension that no tensor can have";
    E0311 "a match that misses cases";
    E0312 "a type with the wrong number of arguments";
    E0313 "a type that does not exist";

    E0401 "an attribute the operator does not have";
    E0402 "an attribute that is missing";
    E0403 "an attribute of the wrong kind";
    E0404 "an attribute value that breaks a rule";
    E0405 "attributes where none are possible";
    E0406 "a call that only an older TVM wrote";

    E0501 "an index out of range";
    E0502 "an integer division by zero";
    E0503 "a reduction over nothing";
    E0504 "a value that no clause matches";
    E0506 "an operator that cannot run";
    E0507 "an expectation that does not hold";
    E0508 "a compiled result that is not the interpreter's";
    E0509 "a result that is not finite";

    E0601 "a program that is not compiled";
    E0602 "a target that this machine is not";
    E0603 "a program that no artifact can be built of";
    E0604 "a place without a step";
    E0605 "a strategy that a step does not have";

    E0701 "a file that cannot be read";
    E0702 "a file that cannot be written";
    E0703 "a file that is not what it should be";
    E0704 "an input that is missing";
    E0705 "an input of the wrong type";
    E0706 "a name that binds to nothing";
    E0707 "an input specification that is not understood";
    E0708 "a program that a format cannot say";
    E0710 "a file that is no artifact";
    E0711 "an artifact that is cut short";
    E0712 "an artifact that was altered";
    E0713 "an artifact of another version";
    E0714 "an artifact that contradicts itself";
    E0715 "a model that Relay cannot say";
    E0716 "a node that breaks a rule";
    E0717 "data outside of a model";
    E0719 "sizes that an artifact has no code for";
    E0720 "weights that a text cannot hold";
    E0721 "a name that says no format";
    E0722 "two things that cannot be compared";
    E0725 "a file of another kind than a program";
    E0726 "an archive without a program";
    E0727 "weights of a compiled graph";
    E0728 "an input without a shape";
    E0730 "a node that the program does not have";
    E0731 "a picture over the limit";
    E0735 "a program with which a command does not succeed";
    E0736 "a command that cannot be run";
    E0737 "a program that cannot be quantized";
    E0740 "an external compiler that does not succeed";
    E0741 "a library that is not that of its function";
    E0742 "a request for a pass that is not understood";
    E0743 "a program that a pass cannot rewrite";
    E0744 "a configuration that is no TOML";
    E0745 "a key that a configuration does not have";
    E0746 "a value that a configuration cannot have";
    E0747 "a path of a configuration that leads nowhere";
    E0748 "a command line that is not understood";

    E0801 "a source file over the limit";
    E0802 "a nesting over the limit";
    E0803 "a tensor over the limit";
    E0804 "a file entry over the limit";
    E0805 "a computation over the limit";

    E0901 "a bug in relayc";

    W0001 "a missing version header";
    W0002 "a graph variable of another function";
    W0003 "a variable that cannot be reached";
    W0004 "an attribute written twice";
    W0005 "a variable that is never used";
    W0006 "a graph variable that is never used";
    W0007 "a parameter that is never used";
    W0008 "a type comment that is wrong";
    W0009 "a name that hides another";
    W0010 "text of an older TVM";
    W0011 "a function that is skipped";
    W0012 "an operator that changes nothing";
    W0013 "a function that is never called";
    W0014 "text that TVM reads otherwise";
    W0015 "an attribute of doubtful value";
    W0016 "a choice that is not used";
    W0017 "a cache that cannot be used";
    W0018 "a file of the cache that is not used";
    W0019 "a lint that does not exist";
    W0020 "a comment that allows nothing";
    W0021 "a list that goes on without a comma";
    W0022 "a dtype that no tensor can hold";
    W0023 "a machine or an environment that changes results";
    W0024 "an operator set that is newer than relayc";
}
