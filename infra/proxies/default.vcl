# Readers and gateways behind Varnish: varnishd -a :8000 -f "$PWD/infra/proxies/default.vcl"
#
# Responses of readers are not cached here (max-age=0): readers share and compress them already. Varnish adds X-Forwarded-For
# (start readers and gateways with --trusted-proxies).
vcl 4.1;

backend reader {
  .host = "127.0.0.1";
  .port = "8080";
  # more than the 10 s between heartbeats of a stream
  .between_bytes_timeout = 60s;
}

backend gateway {
  .host = "127.0.0.1";
  .port = "8081";
}

sub vcl_recv {
  # queries go to readers, everything that changes something to gateways
  if ((req.method != "GET" && req.method != "HEAD") || req.url ~ "^/v1/systems/") {
    set req.backend_hint = gateway;
    return (pass);
  }
  set req.backend_hint = reader;
  # a stream is of one client; others do not wait for its head
  if (req.url ~ "^/v1/[^?]*/live(\?|$)") { return (pass); }
}
