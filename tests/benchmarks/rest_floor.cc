// The floor of ops/rest: Beast alone, which answers every request with one body of the size given,
// on one thread, without timers, limits, routes or a cache. Prints the port, and serves until it is
// killed. For rest_load.py.
//   rest_floor BODY_BYTES
// clang-format off
#include <utility>  // before Boost 1.74's awaitable.hpp, which needs it
// clang-format on
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;

auto Into(error_code& error) { return net::redirect_error(net::use_awaitable, error); }

net::awaitable<void> Serve(tcp::socket socket, const std::string& body) {
  socket.set_option(tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  error_code error;
  while (true) {
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, Into(error));
    if (error) co_return;
    http::response<http::string_body> response{http::status::ok, request.version(), body};
    response.set(http::field::content_type, "application/json");
    response.prepare_payload();
    co_await http::async_write(socket, response, Into(error));
    if (error) co_return;
  }
}

net::awaitable<void> Accept(tcp::acceptor& acceptor, const std::string& body) {
  error_code error;
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(Into(error));
    if (error) co_return;
    net::co_spawn(acceptor.get_executor(), Serve(std::move(socket), body), net::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: rest_floor BODY_BYTES\n", stderr);
    return 2;
  }
  const std::string body(std::strtoul(argv[1], nullptr, 10), 'x');
  net::io_context io(1);
  tcp::acceptor acceptor(io, {net::ip::make_address("127.0.0.1"), 0});
  std::printf("%u\n", unsigned{acceptor.local_endpoint().port()});
  std::fflush(stdout);
  net::co_spawn(io, Accept(acceptor, body), net::detached);
  io.run();
}
