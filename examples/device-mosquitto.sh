#!/bin/sh
# A device in shell, with the Mosquitto clients: it waits for requests over MQTT, acknowledges, reports each step and the result.
#
#   DEVICE_ID=d1 DROVER_API_KEY=... sh examples/device-mosquitto.sh
#
# Settings, from the environment: MQTT_HOST (127.0.0.1), MQTT_PORT (1883), DEVICE_ID, DROVER_API_KEY (the device's key or a user's).
set -u
: "${MQTT_HOST:=127.0.0.1}" "${MQTT_PORT:=1883}" "${DEVICE_ID:?}" "${DROVER_API_KEY:?}"
done_id=

# A shell reads no JSON. The service writes name before the parameters and id after them; where that is too little, use jq.
name_of() { printf '%s' "$1" | sed -n 's/^{"operation":{"request":{"timestamp":[0-9]*,"deviceId":"[^"]*",\("entityId":"[^"]*",\)\{0,1\}"name":"\([^"]*\)".*/\2/p'; }
id_of() { printf '%s' "$1" | sed -n 's/.*,"id":"\([^"]*\)"}}}$/\1/p'; }

# respond ID NAME STEPS [RESULT]: the first message acknowledges, one with a result ends the operation.
respond() {
  result=${4:+,\"resultCode\":\"$4\"}
  mosquitto_pub -h "$MQTT_HOST" -p "$MQTT_PORT" -i "$DEVICE_ID-out" -u "$DEVICE_ID" -P "$DROVER_API_KEY" -q 1 -t "odm/response/$DEVICE_ID" \
    -m "{\"version\":\"8.0\",\"operation\":{\"response\":{\"id\":\"$1\",\"name\":\"$2\",\"steps\":$3$result}}}"
}

step() { printf '[{"name":"%s","result":"SUCCESSFUL"}]' "$1"; }

mosquitto_sub -h "$MQTT_HOST" -p "$MQTT_PORT" -i "$DEVICE_ID" -u "$DEVICE_ID" -P "$DROVER_API_KEY" -q 1 -t "odm/request/$DEVICE_ID" |
  while IFS= read -r request; do
    id=$(id_of "$request")
    name=$(name_of "$request")
    case $name in
      REBOOT_EQUIPMENT)
        respond "$id" "$name" '[]'
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
