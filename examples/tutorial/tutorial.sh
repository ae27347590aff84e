#!/bin/sh
# From a network to its answer, as TVM's tutorials go: make one, look at it, check it, draw it, build it, run what was built with a
# picture; then the same from C. Every answer is held to the others within 1e-5, and the script ends where one differs.
#
#     sh examples/tutorial/tutorial.sh [FOLDER]
#
# The files go to FOLDER, or to one that is gone afterwards. RELAYC is the relayc to run, CC the C compiler.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
relayc=${RELAYC:-relayc}
# A path stays the same one in another folder; a bare name is looked for in PATH.
case $relayc in
  /*) ;;
  */*) relayc=$PWD/$relayc ;;
esac
picture=$here/../digits/7.png
labels=$here/../digits/labels.txt
out=${1:-}
if [ -z "$out" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
cd "$out"

echo "== a network and its weights"
"$relayc" model resnet --layers 8 --image-shape 3,28,28 --classes 10 -o net.relay --params net.params
"$relayc" params ls net.params --match net.relay > weights.txt
tail -n 4 weights.txt

echo "== its text, with the types that were found"
"$relayc" print net.relay --types > typed.relay
head -n 3 typed.relay | cut -c1-100
"$relayc" diff net.relay typed.relay

echo "== is it right?"
"$relayc" check net.relay typed.relay

echo "== a picture of it"
"$relayc" viz net.relay -f term
"$relayc" viz net.relay -f html -o net.html

echo "== a shared object, and the header of its functions"
"$relayc" build net.relay --params net.params -o net.so

echo "== the picture of a seven, by what was built"
"$relayc" run net.so -i "data=@$picture:unit" -o out=@built.npy
"$relayc" run net.so -i "data=@$picture:unit" --top 5 --labels "$labels"

echo "== the same by the compiler and by the interpreter"
for engine in jit interp; do
  "$relayc" run net.relay --params net.params -i "data=@$picture:unit" --engine "$engine" \
    --expect out=@built.npy --rtol 1e-5 --atol 1e-5
  echo "$engine agrees within 1e-5"
done

echo "== the same from C"
# What the network is given, as numbers.
echo 'def @main(%data: Tensor[(1, 3, 28, 28), float32]) { %data }' > picture.relay
"$relayc" run picture.relay -i "data=@$picture:unit" -o out=@picture.npy 2> /dev/null
"${CC:-cc}" -O1 -Wall -Werror -I. "$here/classify.c" -ldl -o classify
./classify ./net.so picture.npy built.npy "$labels"

echo "== with trained weights the answer means something"
digits=$here/../digits
"$relayc" build "$digits/digits.relay" --params "$digits/digits.params" -o digits.so
"$relayc" run digits.so -i "data=@$picture:grey28" --top 1 --labels "$labels"
