// Streams, events and graphs.

#include "made_up/cuda/driver.h"

namespace made_up::cuda {
namespace {

struct DriverEvent {
  Event event;
  bool is_timed = true, is_recorded = false;
  std::weak_ptr<DriverStream> capture;  // in which it was recorded
};
struct Graph {
  std::shared_ptr<Recording> recording;
  int device = 0;
};

Handles<DriverEvent>& events() {
  static auto* all = new Handles<DriverEvent>;
  return *all;
}
Handles<Graph>& graphs() {
  static auto* all = new Handles<Graph>;
  return *all;
}
/// Graphs that can be launched.
Handles<Graph>& executables() {
  static auto* all = new Handles<Graph>;
  return *all;
}

/// Of a call that a capture of this stream forbids.
CUresult refuse_in_capture(DriverStream& stream) {
  if (stream.capture == Capture::kNone) return CUDA_SUCCESS;
  const bool was_void = stream.capture.exchange(Capture::kInvalid) == Capture::kInvalid;
  return was_void ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult refuse_captured(DriverEvent& event) {
  if (const auto stream = event.capture.lock()) {
    if (stream->capture != Capture::kNone) stream->capture = Capture::kInvalid;
  }
  return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace

Handles<DriverStream>& streams() {
  static auto* all = new Handles<DriverStream>;
  return *all;
}

CUresult begin_unsafe_call() {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  CUresult code = CUDA_SUCCESS;
  streams().for_each([&](DriverStream& stream) {
    if (stream.capture == Capture::kNone || stream.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
    const bool is_own = stream.captured_by == std::this_thread::get_id();
    if (stream.mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !is_own) return;
    code = refuse_in_capture(stream);
  });
  return code;
}

std::shared_ptr<DriverStream> stream_for_call(CUstream handle, CUresult& code) {
  code = begin_call_in_context();
  if (code != CUDA_SUCCESS) return nullptr;
  auto stream = streams().find(handle);
  if (!stream || &stream->context != current_context()) {
    code = CUDA_ERROR_INVALID_HANDLE;
    return nullptr;
  }
  if (stream->capture == Capture::kInvalid) {
    code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return nullptr;
  }
  return stream;
}

}  // namespace made_up::cuda

using namespace made_up::cuda;

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  if (flags != CU_STREAM_DEFAULT && flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = static_cast<CUstream>(streams().add(std::make_shared<DriverStream>(*current_context())));
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  return streams().take(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamSynchronize(CUstream handle) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_call(handle, code);
  if (!stream) return code;
  code = refuse_in_capture(*stream);
  if (code != CUDA_SUCCESS) return code;
  stream->stream.wait();
  return stream->context.fault;
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_call(handle, code);
  if (!stream) return code;
  if (stream->capture != Capture::kNone) return CUDA_ERROR_ILLEGAL_STATE;
  stream->stream.begin_recording();
  stream->mode = mode;
  stream->captured_by = std::this_thread::get_id();
  stream->capture = Capture::kActive;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  *graph = nullptr;
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  const auto stream = streams().find(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture == Capture::kNone) return CUDA_ERROR_ILLEGAL_STATE;
  const bool is_own = stream->captured_by == std::this_thread::get_id();
  if (stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !is_own) return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  const bool was_void = stream->capture.exchange(Capture::kNone) == Capture::kInvalid;
  try {
    auto made = std::make_shared<Graph>();
    made->recording = stream->stream.end_recording();
    made->device = stream->context.device;
    if (was_void) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *graph = static_cast<CUgraph>(graphs().add(made));
    return CUDA_SUCCESS;
  } catch (const made_up::Refused&) {
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph handle, unsigned long long flags) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  const auto graph = graphs().find(handle);
  if (!graph || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *executable = static_cast<CUgraphExec>(executables().add(std::make_shared<Graph>(*graph)));
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream to) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_call(to, code);
  if (!stream) return code;
  code = refuse_in_capture(*stream);
  if (code != CUDA_SUCCESS) return code;
  const auto graph = executables().find(handle);
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  if (graph->device != stream->context.device) return CUDA_ERROR_INVALID_VALUE;
  graph->recording->replay(stream->stream);
  count("replays of graphs");
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  return executables().take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroy(CUgraph handle) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  return graphs().take(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  auto made = std::make_shared<DriverEvent>();
  made->is_timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = static_cast<CUevent>(events().add(made));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  if (const CUresult code = begin_call(); code != CUDA_SUCCESS) return code;
  return events().take(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventRecord(CUevent handle, CUstream to) {
  CUresult code = CUDA_SUCCESS;
  const auto stream = stream_for_call(to, code);
  if (!stream) return code;
  const auto event = events().find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  event->event.record(stream->stream);
  event->is_recorded = true;
  event->capture = stream->capture == Capture::kActive ? stream : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent handle) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  const auto event = events().find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  try {
    event->event.wait();
  } catch (const made_up::Refused&) {
    return refuse_captured(*event);
  }
  return current_context()->fault;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  if (const CUresult code = begin_call_in_context(); code != CUDA_SUCCESS) return code;
  const auto first = events().find(begin), second = events().find(end);
  if (!first || !second) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& event : {first, second}) {
    if (!event->is_timed || !event->is_recorded) return CUDA_ERROR_INVALID_HANDLE;
  }
  try {
    if (!first->event.passed() || !second->event.passed()) return CUDA_ERROR_NOT_READY;
    *milliseconds = static_cast<float>(second->event.milliseconds_since(first->event));
  } catch (const made_up::Refused&) {
    return refuse_captured(first->capture.expired() ? *second : *first);
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
