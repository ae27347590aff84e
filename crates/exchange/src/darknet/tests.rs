//! Tests each mistake of a network by an example, and where its message points.

use super::*;

/// An image of 4 channels, 8 by 8, and these sections.
fn with(sections: &str) -> String {
    format!("[net]\nchannels=4\nheight=8\nwidth=8\n{sections}")
}

fn errors(text: &str) -> Vec<Diagnostic> {
    let request = Import { name: "net.cfg", file: FileId(0), shapes: &[], weights: None, as_params: true };
    import(text.as_bytes(), &request).1.err().unwrap_or_default()
}

/// Each mistake is one message, at the words of the text that are wrong.
#[test]
fn each_mistake_is_found() {
    let conv = "[conv]\nfilters=6\nactivation=linear\n";
    for (sections, at, words) in [
        ("[conv]\nfilters=0\n", "0", "expected a positive integer"),
        ("[conv]\nsize=99999999999\n", "99999999999", "expected a positive integer"),
        ("[conv]\nactivation=leeky\n", "leeky", "did you mean `leaky`?"),
        ("[conv]\nactivation=leaky\nstrid=2\n", "strid", "did you mean `stride`?"),
        ("[conv]\nactivation=leaky\nxyzzy=2\n", "xyzzy", "Unused field"),
        ("[conv]\nxnor=1\n", "[conv]", "`xnor=1`"),
        ("[conv]\ngroups=3\n", "[conv]", "3 groups do not divide 4 channels and 1 filters"),
        ("[conv]\nsize=9\nfilters=2\n", "[conv]", "a window of 9 does not fit into 8"),
        ("[deconv]\nsize=2\npadding=9\n", "[deconv]", "padding 9 takes away all"),
        ("[maxpol]\n", "[maxpol]", "there is `[maxpool]`"),
        ("[maxpool]\nsize=x\n", "x", "`size` is `x`"),
        ("[maxpool]\nsize=10\npadding=1\n", "[maxpool]", "a window of 10 does not fit"),
        ("[upsample]\nstride=0\n", "[upsample]", "`stride` is 0"),
        ("[upsample]\nstride=-3\n", "[upsample]", "3 does not divide the image, 8 by 8"),
        ("[lrn]\nsize=9\n", "[lrn]", "Darknet reads past them"),
        ("[route]\n", "[route]", "`layers` is missing"),
        ("[route]\nlayers=-2\n", "-2", "does not come before this one"),
        ("[route]\nlayers=0\n", "0", "does not come before this one"),
        ("[dropout]\n[route]\nlayers=0\ngroups=3\n", "[route]", "3 groups do not divide 4 channels"),
        ("[dropout]\n[route]\nlayers=0\ngroup_id=1\n", "[route]", "there is no group 1"),
        ("[dropout]\n[shortcut]\nfrom=0,a\n", "0,a", "expected numbers of layers"),
        ("[reorg]\nstride=3\n", "[reorg]", "a stride of 3 does not divide"),
        ("[crop]\ncrop_height=9\n", "[crop]", "9 by 1 cannot be cut out of"),
        ("[softmax]\ntree=coco.tree\n", "[softmax]", "`tree=coco.tree`"),
        ("[softmax]\ngroups=7\n", "[softmax]", "7 groups do not divide 256 numbers"),
        ("[yolo]\nclasses=2\n", "[yolo]", "the layer before has `filters=7`"),
        ("[yolo]\nmask=1\n", "[yolo]", "`mask` names box 1, `num` is 1"),
        ("[conv]\nfilters=6\nactivation=relu\n[yolo]\nclasses=1\nanchors=1,2,3\n", "[yolo]", "3 numbers of anchors"),
        ("[region]\ncoords=3\n", "[region]", "a box has 4"),
        ("[detection]\n", "[detection]", "7 by 7 cells of 1 classes and 1 boxes are 147 numbers, found 256"),
        ("[local]\nsize=5\npad=1\n", "[local]", "`pad=1` with another `size` than 3"),
        ("[crnn]\noutput_filters=x\n", "x", "`output_filters` is `x`"),
    ] {
        let text = with(&sections.replace("[conv]\nfilters=6\nactivation=linear\n", conv));
        let errors = errors(&text);
        assert_eq!(errors.len(), 1, "{sections}: {errors:?}");
        let span = errors[0].span();
        assert_eq!(&text[span.start as usize..span.end as usize], at, "{sections}");
        let all = [
            vec![errors[0].message.clone()],
            errors[0].notes.clone(),
            errors[0].helps.iter().map(|help| help.text.clone()).collect(),
        ];
        let all = all.concat().join("\n");
        assert!(all.contains(words), "{sections}: {all}");
    }
}

#[test]
fn the_network_says_its_input() {
    for (text, words) in [
        ("[net]\n[conv]\n", "it says no input"),
        ("[net]\nwidth=2\nheight=2\nchannels=1\ninputs=5\n[conv]\n", "`inputs` is 5"),
        ("[net]\nwidth=2\nheight=2\nchannels=1\n", "a network without layers"),
        ("[net]\nwidth=2147483647\nheight=2147483647\nchannels=2147483647\n[conv]\nfilters=2147483647\n", ""),
        ("[net]\ninputs=2147483647\n[connected]\noutput=2147483647\n[connected]\noutput=2147483647\n", ""),
        ("[net]\ninputs=4\ntime_steps=2147483647\n[rnn]\noutput=4\n", "more steps in time than 16384"),
        ("[net]\ninputs=4\n[conv]\n", "it takes an image, found 4 numbers"),
    ] {
        let errors = errors(text);
        let all: Vec<String> =
            errors.iter().flat_map(|error| [vec![error.message.clone()], error.notes.clone()].concat()).collect();
        assert!(all.join("\n").contains(words), "{text}: {errors:?}");
        assert!(!words.is_empty() || errors.iter().all(|error| error.message.contains("large")), "{text}: {errors:?}");
    }
}

#[test]
fn the_header_says_what_follows() {
    let header = |words: &[u32], n: usize| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).chain(vec![0; 4 * n]).collect();
        Numbers::new("net.weights", &bytes).map(|numbers| numbers.transposed).map_err(|error| error.message)
    };
    assert_eq!(header(&[0, 1, 0, 0], 2), Ok(false));
    assert_eq!(header(&[0, 2, 0, 0, 0], 2), Ok(false));
    assert_eq!(header(&[0, 1001, 0, 0], 2), Ok(true));
    assert!(header(&[0, 2, 0, 0], 0).expect_err("short").contains("ends in the header"));
    assert!(header(&[0], 0).is_err());
}
