$ curl --request PATCH 'http://api.example.com/items/1' --header 'Content-Type: text/plain' --data-binary $'l\u00ednea uno\nit\'s two' --retry 3 --resolve api.example.com:80:192.0.2.7 -o /dev/null -w '%{http_code}\n' --frobnicate
curl api.example.com/plain -A "probe/1.0" -e http://ref.example.com/ -b "a=1; b=2" -H 'Accept;' -H 'X-Empty:' --range 0-99
curl --url http://api.example.com/one --next http://api.example.com/two -d 'not a form' http://api.example.com/three
wget http://api.example.com/four
