#!/bin/sh
# Starts Mosquitto with the password of Drover. A device is let in by its id and a password of its own:
#
#   docker compose exec mosquitto mosquitto_passwd -b /mosquitto/data/passwords meter-1 its-password
#   docker compose kill -s HUP mosquitto
set -eu
folder=${MOSQUITTO_FOLDER:-/mosquitto}
passwords=$folder/data/passwords
[ -e "$passwords" ] || : >"$passwords"
chmod 600 "$passwords"
mosquitto_passwd -b "$passwords" drover "$MQTT_PASSWORD"
if [ "$(id -u)" = 0 ]; then chown -R mosquitto:mosquitto "$folder/data"; fi
exec mosquitto -c "$folder/drover/mosquitto.conf"
