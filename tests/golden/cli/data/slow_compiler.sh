# An outside compiler that takes its time, and fails.
sleep 3
exit 1
