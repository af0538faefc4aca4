#include "ops/rest/server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <functional>

#include "ops/rest/event_loop.h"
#include "ops/rest/session.h"
#include "schemas/boundary_thread.h"

namespace eroica {
namespace {

using namespace rest;  // NOLINT: the other half of this file

// Changes of findings that come together wake those who follow them once.
constexpr milliseconds kGatherChanges{50};
constexpr milliseconds kPauseWithoutDescriptors{100};

net::awaitable<void> ServeTcp(State& state, tcp::socket socket, std::string address) {
  TcpStream stream(std::move(socket));
  Session<TcpStream> session(state, stream, std::move(address));
  co_await session.Run();
  error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

net::awaitable<void> ServeTls(State& state, net::ssl::context& tls, tcp::socket socket,
                              std::string address) {
  TlsStream stream(std::move(socket), tls);
  Session<TlsStream> session(state, stream, std::move(address));
  error_code error;
  beast::get_lowest_layer(stream).expires_after(state.limits.header_time);
  co_await stream.async_handshake(net::ssl::stream_base::server, Into(error));
  if (error) co_return;
  co_await session.Run();
  beast::get_lowest_layer(stream).expires_after(state.limits.header_time);
  co_await stream.async_shutdown(Into(error));
}

class BeastServer final : public RestServer {
 public:
  BeastServer(RestService& service, const ServerOptions& options)
      : state_(service, options), address_(options.address), acceptor_(io_) {}

  ~BeastServer() override {
    if (thread_.joinable()) {
      ListenToFindings(nullptr);
      RunAtBoundary([this] { net::post(io_, [this] { Stop(); }); },
                    [this](const Thrown&) { io_.stop(); });
      thread_.join();
    }
    state_.pool.join();
  }

  absl::Status Listen(const ServerOptions& options) {
    if (absl::Status status = UseTls(options); !status.ok()) return status;
    error_code error;
    const net::ip::address address = net::ip::make_address(options.address, error);
    if (error)
      return absl::InvalidArgumentError(
          fmt::format("{} is no IP address to listen on", options.address));
    const tcp::endpoint endpoint(address, options.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (error)
      return absl::UnavailableError(fmt::format("cannot listen on {}:{}: {}", options.address,
                                                options.port, error.message()));
    port_ = acceptor_.local_endpoint().port();
    net::co_spawn(io_, Accept(), net::detached);
    ListenToFindings([this] { FindingsChanged(); });
    thread_ = BoundaryThread([this] { Run(); },
                             [this](const Thrown& thrown) { state_.CountThrown("it", thrown); });
    return absl::OkStatus();
  }

  uint16_t port() const override { return port_; }
  std::string url() const override {
    const bool is_v6 = address_.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", tls_ ? "https" : "http", is_v6 ? "[" : "", address_,
                       is_v6 ? "]" : "", port_);
  }
  ServerProbe probe() const override {
    const MutexLock lock(state_.mutex);
    return state_.probe;
  }

 private:
  void ListenToFindings(std::function<void()> on_change) {
    const FindingIndex* findings = state_.service.sources().findings;
    if (findings != nullptr) findings->SetListener(std::move(on_change));
  }

  absl::Status UseTls(const ServerOptions& options) {
    if (!options.tls) return absl::OkStatus();
    tls_.emplace(net::ssl::context::tls_server);
    error_code error;
    tls_->set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                          net::ssl::context::no_tlsv1_1 | net::ssl::context::single_dh_use,
                      error);
    if (!error) tls_->use_certificate_chain_file(options.tls->certificate, error);
    if (error)
      return absl::InvalidArgumentError(fmt::format("cannot use the certificate {}: {}",
                                                    options.tls->certificate, error.message()));
    tls_->use_private_key_file(options.tls->key, net::ssl::context::pem, error);
    if (error)
      return absl::InvalidArgumentError(
          fmt::format("cannot use the key {}: {}", options.tls->key, error.message()));
    return absl::OkStatus();
  }

  void Run() {
    RunLoop(io_, [this](const Thrown& thrown) {
      state_.CountThrown("a handler of the server", thrown);
      return !state_.stopping;  // what else Stop has to do may be lost with the handler
    });
  }

  // Accepts until the server stops, whatever is thrown meanwhile.
  net::awaitable<void> Accept() {
    while (!state_.stopping) {
      Thrown thrown;
      try {
        co_await AcceptOne();
        continue;
      } catch (...) {
        thrown = Thrown::Current();
      }
      state_.CountThrown("a connection before its first request", thrown);
    }
  }

  net::awaitable<void> AcceptOne() {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(Into(error));
    if (state_.stopping) co_return;
    if (!error) co_return Serve(std::move(socket));
    // No descriptors are left, mostly: those of idle connections come back.
    spdlog::warn("rest: cannot accept error=\"{}\"", error.message());
    state_.connections.MakeRoom();
    net::steady_timer pause(io_, kPauseWithoutDescriptors);
    co_await pause.async_wait(Into(error));
  }

  void Serve(tcp::socket socket) {
    error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return;
    socket.set_option(tcp::no_delay(true), error);
    const bool room = state_.connections.MakeRoom();
    {
      const MutexLock lock(state_.mutex);
      ++state_.probe.connections;
      if (!room) ++state_.probe.connections_refused;
      state_.probe.connections_evicted = state_.connections.evicted();
    }
    if (!room) return Reject(std::move(socket));
    const std::string address = peer.address().to_string();
    const auto ended = [this](const std::exception_ptr& failure) {
      if (failure != nullptr) state_.CountThrown("a connection", Thrown::Of(failure));
      CountOpen();
    };
    if (tls_) {
      net::co_spawn(io_, ServeTls(state_, *tls_, std::move(socket), address), ended);
    } else {
      net::co_spawn(io_, ServeTcp(state_, std::move(socket), address), ended);
    }
    CountOpen();
  }

  // Without waiting: what the kernel takes at once.
  void Reject(tcp::socket socket) {
    if (tls_) return;
    const CachedPtr refused =
        Finish(Problem(ProblemType::kUnavailable, "too many connections are open", ""));
    const std::string text = ResponseHead(*refused, {.keep_alive = false, .date = state_.Date()}) +
                             *refused->response.body;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(net::buffer(text), ignored);
    state_.Count(refused->response.status);
  }

  void CountOpen() {
    const MutexLock lock(state_.mutex);
    state_.probe.connections_open = state_.connections.size();
  }

  // On any thread. Where it throws, the next change wakes the streams.
  void FindingsChanged() {
    if (wake_due_.exchange(true)) return;
    RunAtBoundary([this] { net::post(io_, [this] { WakeStreamsSoon(); }); }, WakeFailed());
  }

  void WakeStreamsSoon() {
    RunAtBoundary(
        [this] {
          wake_timer_.expires_after(kGatherChanges);
          wake_timer_.async_wait([this](error_code) {
            wake_due_ = false;
            WakeStreams();
          });
        },
        WakeFailed());
  }

  std::function<void(const Thrown&)> WakeFailed() {
    return [this](const Thrown& thrown) {
      wake_due_ = false;
      state_.CountThrown("the waking of streams", thrown);
    };
  }

  void WakeStreams() {
    for (net::steady_timer* waiting : state_.waiting_streams) waiting->cancel();
  }

  void Stop() {
    state_.stopping = true;
    error_code ignored;
    acceptor_.close(ignored);
    wake_timer_.cancel();
    WakeStreams();
    constexpr std::chrono::seconds kGrace{1};
    stop_timer_.expires_after(kGrace);
    stop_timer_.async_wait([this](error_code) { io_.stop(); });
    CloseWhenAnswered();
  }

  // Idle connections at once, the others when they have their answer.
  void CloseWhenAnswered() {
    if (state_.answers_in_work == 0) state_.connections.CloseAll();
    if (state_.connections.size() == 0) {
      stop_timer_.cancel();
      return;
    }
    look_timer_.expires_after(milliseconds(10));
    look_timer_.async_wait([this](error_code error) {
      if (!error) CloseWhenAnswered();
    });
  }

  State state_;
  const std::string address_;
  std::optional<net::ssl::context> tls_;
  net::io_context io_{1};
  tcp::acceptor acceptor_;
  std::atomic<bool> wake_due_ = false;
  net::steady_timer wake_timer_{io_};
  net::steady_timer stop_timer_{io_};
  net::steady_timer look_timer_{io_};
  uint16_t port_ = 0;
  BoundaryThread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RestServer>> RestServer::Start(RestService& service,
                                                              const ServerOptions& options) {
  auto server = std::make_unique<BeastServer>(service, options);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return server;
}

}  // namespace eroica
