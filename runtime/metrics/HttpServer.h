// Answers GET /metrics, and nothing else, from one thread.
#pragma once

#include "runtime/base/Status.h"

#include <functional>
#include <memory>
#include <string>

namespace dtc::rt {

// Serves a page to few readers: at most 16 at a time, who have 5 s each and get one answer a
// connection.
class HttpServer {
public:
  virtual ~HttpServer() = default; // ends serving
  // Returns the port.
  virtual int port() const = 0;

  // Listens at a numeric address until `server` is destroyed; port 0 is any that is free. `page`
  // returns the text of each answer, called from the server's thread. InvalidArgument if it cannot
  // listen there, Unavailable if the system has no thread left.
  static Status listen(const std::string &address, int port, std::function<std::string()> page,
                       std::unique_ptr<HttpServer> &server);
};

} // namespace dtc::rt
