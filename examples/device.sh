#!/bin/sh
# A device in shell, with curl. It sends one collected value, then asks the service for work over HTTP and reports each step.
#
#   DEVICE_ID=d1 DROVER_API_KEY=... sh examples/device.sh
#
# Settings, from the environment: DROVER_URL (http://127.0.0.1:8080), DEVICE_ID, DROVER_API_KEY (the device's key or a user's).
# An id with characters other than letters, digits, - . _ and ~ must be given percent-encoded.
set -u
: "${DROVER_URL:=http://127.0.0.1:8080}" "${DEVICE_ID:?}" "${DROVER_API_KEY:?}"
device="$DROVER_URL/south/v80/devices/$DEVICE_ID"
done_id=

call() {
  curl --silent --show-error --fail --max-time 60 --retry 10 --retry-connrefused \
    --header "X-ApiKey: $DROVER_API_KEY" --header 'Content-Type: application/json' "$@"
}

# A shell reads no JSON. The service writes name before the parameters and id after them; where that is too little, use jq.
name_of() { printf '%s' "$1" | sed -n 's/^{"operation":{"request":{"timestamp":[0-9]*,"deviceId":"[^"]*",\("entityId":"[^"]*",\)\{0,1\}"name":"\([^"]*\)".*/\2/p'; }
id_of() { printf '%s' "$1" | sed -n 's/.*,"id":"\([^"]*\)"}}}$/\1/p'; }

# respond ID NAME STEPS [RESULT]: without a result it is a part, with one it ends the operation.
respond() {
  result=${4:+,\"resultCode\":\"$4\"}
  call --output /dev/null --data "{\"version\":\"8.0\",\"operation\":{\"response\":{\"id\":\"$1\",\"name\":\"$2\",\"steps\":$3$result}}}" \
    "$device/operation/response"
}

step() { printf '[{"name":"%s","result":"SUCCESSFUL"}]' "$1"; }

call --output /dev/null --data '{"version":"8.0","datastreams":[{"id":"uptime","datapoints":[{"value":1}]}]}' "$device/collect/iot"

while :; do
  if ! request=$(call "$device/operation/pending?wait=30"); then
    sleep 5
    continue
  fi
  [ -n "$request" ] || continue
  id=$(id_of "$request")
  name=$(name_of "$request")
  case $name in
    REBOOT_EQUIPMENT)
      # An operation that comes again is the same operation: it is answered again, never done again.
      if [ "$id" != "$done_id" ]; then
        respond "$id" "$name" "$(step BEGINREBOOT)"
        sleep 1 # here a real device restarts
        done_id=$id
      fi
      respond "$id" "$name" "$(step ENDREBOOT)" SUCCESSFUL
      ;;
    *) respond "$id" "$name" '[]' NOT_SUPPORTED ;;
  esac
done
