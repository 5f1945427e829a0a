#include "data/video/ffmpeg_module/handles.h"

extern "C" {
#include <libavutil/log.h>
}

#include <array>
#include <cstdarg>
#include <mutex>
#include <new>

namespace evener::data::video_module {
namespace {

constexpr std::size_t kLongestMessage = 200;

std::mutex message_mutex;
std::string message;

void on_message(void* source, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  std::array<char, kLongestMessage> line{};
  int with_prefix = 0;
  av_log_format_line(source, level, format, arguments, line.data(), static_cast<int>(line.size()), &with_prefix);
  std::string text(line.data());
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) return;
  const std::scoped_lock lock(message_mutex);
  message = std::move(text);
}

}  // namespace

Frame new_frame() {
  Frame frame(av_frame_alloc());
  if (!frame) throw std::bad_alloc();
  return frame;
}

Packet new_packet() {
  Packet packet(av_packet_alloc());
  if (!packet) throw std::bad_alloc();
  return packet;
}

std::string reason_of(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

// FFmpeg begins a message with "[mov,mp4 @ 0x55d0c8a3e2c0] ", of which the address helps nobody.
std::string last_message() {
  const std::scoped_lock lock(message_mutex);
  const auto end = message.starts_with('[') ? message.find("] ") : std::string::npos;
  return end == std::string::npos ? message : message.substr(end + 2);
}

void forget_message() {
  const std::scoped_lock lock(message_mutex);
  message.clear();
}

void catch_messages() {
  av_log_set_callback(on_message);
}

}  // namespace evener::data::video_module
