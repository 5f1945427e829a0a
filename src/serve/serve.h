// `evener serve`: runs a trained network for requests over HTTP until it is told to stop.
#pragma once

#include <cstdint>
#include <string>

#include "base/this_work.h"
#include "detect/options.h"
#include "infer/session/options.h"
#include "measure/run/observer.h"
#include "options/run_flags.h"
#include "record/energy.h"
#include "serve/batch_queue.h"
#include "serve/http/http_server.h"

namespace evener::serving {

struct ServeFlags {
  struct Server : OptionGroup {
    Server() : OptionGroup("Server") {}

    Option<std::string> host{*this, "--host ADDRESS", "127.0.0.1",
                             "Where it listens: 127.0.0.1 is this machine alone, 0.0.0.0 everybody who can reach it"};
    Option<int> port{*this, "--port N", 8000, within(from_to(0, 65535)), "0: any that is free"};
    Option<std::string> name{*this, "--name NAME",
                             "Of the model in addresses: /v2/models/NAME/infer (default: the network's)"};
    Option<double> max_wait_ms{*this, "--max-wait MILLISECONDS", 0, within(from_to(0, 10'000)),
                               "How long an idle device leaves samples waiting for others to fill a batch; batches "
                               "form without it where samples come faster than they are computed"};
    Option<std::int64_t> queue{*this, "--queue SAMPLES", 1024, within(from_to(1, 1'000'000)),
                               "Most samples that wait; requests beyond are told 503"};
    Option<std::string> input_type{*this, "--input-type NAME", "auto", one_of({"auto", "uint8", "fp32"}),
                                   "Of tensors: uint8 or fp32, pixels from 0 to 255 (auto: uint8 for images)"};
    Option<std::int64_t> max_request_mb{*this, "--max-request MB", 64, within(from_to(1, 2000)),
                                        "Largest request; 413 beyond"};
    Option<double> request_timeout_s{*this, "--request-timeout SECONDS", 30, within(from_to(0.1, 3600)),
                                     "For a request to arrive, for its answer to be computed, and for it to leave"};
    Option<std::int64_t> connections{*this, "--connections N", 1024, within(from_to(1, 20'000)),
                                     "At once; closed beyond"};
    Option<bool> random_weights{*this, "--random", "Serve a network without weights: what it says means nothing"};
    Option<bool> quiet{*this, "--quiet", rules().not_recorded(), "No progress"};

    HttpOptions http() const {
      constexpr std::size_t kLargeRequests = 8;  // at once
      HttpOptions options;
      options.host = *host;
      options.port = *port;
      options.connections = static_cast<std::size_t>(*connections);
      options.body_bytes = static_cast<std::size_t>(*max_request_mb) * 1'000'000;
      options.bodies_bytes = kLargeRequests * options.body_bytes;
      options.transfer_s = *request_timeout_s;
      return options;
    }
    /// The options for dynamic batching, with `lanes` concurrent calls of at most `batch` samples.
    BatchQueueOptions queue_options(std::size_t lanes, std::size_t batch) const {
      return {.lanes = lanes,
              .batch = batch,
              .capacity = static_cast<std::size_t>(*queue),
              .max_wait_s = *max_wait_ms / 1000};
    }
    /// Whether input tensors are bytes (UINT8). `images`: the network takes images.
    bool takes_bytes(bool images) const { return *input_type == "auto" ? images : *input_type == "uint8"; }
  };

  inference::InferModelFlags model;
  inference::InferPlacementFlags placement;
  detection::DetectBoxesFlags boxes;
  Server server;
  EnergyFlags energy;

  OptionSet options() { return {&model, &placement, &boxes, &server, &energy}; }
  /// The options of the inference on `plan`, which placement.plan() returned.
  inference::InferOptions infer_options(const placement::Plan& plan) const;
};

/// The counts of a server at its end.
struct ServedTotals {
  std::uint64_t requests = 0, samples = 0, batches = 0;
  double seconds = 0;
  std::string energy = {};  // in words: joules, and those of a sample; "" = not known
};

/// "energy: 120 J (measured), 3 mJ a sample; 80 J without the idle power", with what it lacks and which meters
/// contradict each other. Where the joules aren't known, why. `idle_asked`: the idle power was to be measured.
std::string served_energy_text(const record::Energy& energy, std::uint64_t samples, bool idle_asked);

/// See complete(InferModelFlags&, Observer*).
void complete(ServeFlags& flags, measure::Observer* observer);

/// Serves until `stop` or a signal, and then answers the requests that were accepted. Tells `observer` the address on a
/// line of its own once requests can be sent. `flags` must be completed. Throws UsageError and Error.
ServedTotals serve(const ServeFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::serving
