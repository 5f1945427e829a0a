// The addresses of `evener serve`: the Open Inference Protocol, metrics, and pictures.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

#include "base/slots.h"
#include "job/http/http_server.h"
#include "job/serve/protocol.h"
#include "job/serve/serve_metrics.h"
#include "task/inference/batch_queue.h"

namespace evener::job {

/// Thread-safe.
class InferenceApi {
 public:
  /// `readers`: how many requests are parsed and pictures decoded at the same time, which bounds the memory for it.
  /// `limit_s`: time limit of an inference. `model`, `queue` and `metrics` must outlive this.
  InferenceApi(const ServedModel& model, task::BatchQueue& queue, ServeMetrics& metrics, int readers, double limit_s);

  /// `http`: the server's counts, for metrics.
  HttpResponse answer(HttpRequest& request, const HttpCounts& http);
  /// From now on reports that it isn't ready for more, but still answers all requests.
  void drain() { draining_ = true; }

 private:
  HttpResponse server_facts() const;
  HttpResponse model_facts() const;
  HttpResponse about_model(std::string_view path, HttpRequest& request);
  HttpResponse infer(HttpRequest& request);
  HttpResponse infer_unguarded(HttpRequest& request);
  /// Parses the body of a request, and converts its tensors into `samples`.
  InferRequest read(HttpRequest& request, std::vector<task::SampleValues>& samples);

  const ServedModel& model_;
  task::BatchQueue& queue_;
  ServeMetrics& metrics_;
  Slots readers_;
  const double limit_s_;
  std::atomic<bool> draining_ = false;
};

}  // namespace evener::job
