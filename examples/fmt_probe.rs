use relayc::formats::{self, npz, params, picture};
use relayc::tensor::{Tensor, npy};
use relayc::types::{DType, Dim};
fn main() {
    let mut args = std::env::args().skip(1);
    match args.next().unwrap().as_str() {
        "write" => {
            let dir = args.next().unwrap();
            let mut all = vec![];
            for dtype in DType::RUNTIME {
                for shape in [&[][..], &[3], &[2, 0], &[2, 1, 3]] {
                    let t = Tensor::random(dtype, shape, 5, "x").unwrap();
                    let name = format!("{dtype}-{}", shape.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("_"));
                    std::fs::write(format!("{dir}/{name}.npy"), npy::write(&t)).unwrap();
                    all.push((name, t));
                }
            }
            std::fs::write(format!("{dir}/all.npz"), npz::write("all", &all).unwrap()).unwrap();
            std::fs::write(format!("{dir}/all.params"), params::write(&all)).unwrap();
        }
        "list" => {
            for f in args {
                let b = std::fs::read(&f).unwrap();
                let r = if f.ends_with(".npy") {
                    formats::read_npy(&f, &b).map(|t| vec![(f.clone(), t)])
                } else {
                    formats::read_tensors(&f, &b)
                };
                match r {
                    Ok(v) => {
                        for (n, t) in v {
                            println!("{n} {} {:?} {}", t.dtype(), t.shape(), t.preview().replace('\n', ""))
                        }
                    }
                    Err(e) => println!("{}: {} {:?}", e.code.id(), e.message, e.notes),
                }
            }
        }
        "roundtrip" => {
            for f in args {
                let b = std::fs::read(&f).unwrap();
                println!("{f} {}", params::write(&params::read(&f, &b).unwrap()) == b);
            }
        }
        "pic" => {
            let f = args.next().unwrap();
            let p = args.next().unwrap();
            let out = args.next().unwrap();
            let dims: Vec<Dim> = args.map(|a| Dim::known(a.parse().unwrap())).collect();
            let t =
                picture::read(&f, &std::fs::read(&f).unwrap(), picture::Preset::find(&p).unwrap(), &dims, DType::F32).unwrap();
            std::fs::write(out, npy::write(&t)).unwrap();
        }
        _ => panic!(),
    }
}
