# An outside compiler that writes something else than a shared object.
cp "$1" "$3"
