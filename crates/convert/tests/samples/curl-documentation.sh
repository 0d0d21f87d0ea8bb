# What a page of documentation shows.
TOKEN=abc
curl -sS https://api.example.com/v1/users -H "Authorization: Bearer $TOKEN"
curl -X PUT https://api.example.com/v1/users/7 -u admin:hunter2 --json '{"name": "Ada"}'
curl -G https://api.example.com/v1/search --data-urlencode "q=load testing" -d limit=10
curl https://api.example.com/v1/login -d 'user=ada&password=secret' -d remember=1 -L --max-redirs 3
curl -F title=Cat -F 'photo=@photo;type=image/jpeg;filename=cat.jpg' https://api.example.com/v1/photos
curl -XDELETE "https://api.example.com/v1/users/${USER_ID}" && echo done
curl -I -k -m 2.5 --http2 https://api.example.com/v1/health | head -1
