// Answers GET /metrics, and nothing else, from one thread.
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <memory>
#include <string>

namespace dtc::rt {

// A page for few readers: at most 16 at a time, who have 5 s each and get one answer a connection.
class HttpServer {
public:
  virtual ~HttpServer() = default; // ends serving
  virtual int port() const = 0;

  // Listens at a numeric address until `server` goes; port 0 is any that is free. `page` gives the text
  // of each answer, from the server's thread. InvalidArgument where it cannot listen there,
  // Unavailable where the system gives no thread.
  static Status listen(const std::string &address, int port, std::function<std::string()> page,
                       std::unique_ptr<HttpServer> &server);
};

} // namespace dtc::rt
