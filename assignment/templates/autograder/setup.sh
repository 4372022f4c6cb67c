#!/usr/bin/env bash
# Runs once, when Gradescope builds the image.
set -eu
apt-get update
# The newest of Ubuntu's Pythons that the project runs on.
for python in python3.12 python3.11; do
  apt-get install -y --no-install-recommends "$python" "$python-venv" && break
done
"$python" -m venv /opt/grading
/opt/grading/bin/pip install --no-cache-dir -r /autograder/source/requirements.txt
# The student's processes have a user of their own, who must not read the answers.
chmod -R go-rwx /autograder/source
# Libraries that do what students are to write are for root alone.
cd /autograder/source
/opt/grading/bin/python -m assignment.isolation.image
# What students' code could read is searched once, here, and not at every upload.
/opt/grading/bin/python -m assignment grade reference --single --sandbox user \
  --suite hidden --starter student --out /tmp/checked
