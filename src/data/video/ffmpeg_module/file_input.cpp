#include "data/video/ffmpeg_module/file_input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
#include <libavutil/display.h>
}

#include <array>
#include <cerrno>
#include <cmath>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/stop.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"

namespace evener::data::video_module {
namespace {

constexpr int kBufferBytes = 1 << 16;
constexpr int kPollMs = 100;

/// Containers of videos. What reads other files by name, such as playlists, isn't among them.
constexpr const char* kContainers =
    "mov,matroska,avi,mpegts,mpeg,mpegvideo,flv,ogg,asf,h264,hevc,m4v,ivf,mxf,nut,dv,obu,rm,yuv4mpegpipe,mjpeg";

int refuse_to_open(AVFormatContext* /*format*/, AVIOContext** /*io*/, const char* /*url*/, int /*flags*/,
                   AVDictionary** /*options*/) {
  return AVERROR(EACCES);
}

std::string tag_text(std::uint32_t tag) {
  std::string text;
  for (int i = 0; i < 4; ++i) text += static_cast<char>((tag >> (8 * i)) & 255U);
  return printable(text);
}

const std::int32_t* display_matrix(const AVStream& stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
  const AVPacketSideData* data = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return data != nullptr && data->size >= 9 * sizeof(std::int32_t) ? reinterpret_cast<const std::int32_t*>(data->data)
                                                                   : nullptr;
#else
  return reinterpret_cast<const std::int32_t*>(av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
#endif
}

bool is_encrypted(const AVPacket& packet) {
  return av_packet_get_side_data(&packet, AV_PKT_DATA_ENCRYPTION_INFO, nullptr) != nullptr;
}

}  // namespace

FileInput::FileInput(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.valid()) throw Error("can't be read: " + file_error_text(errno, path));
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) throw Error("can't be read: " + file_error_text(errno, path));
  is_pipe_ = S_ISFIFO(status.st_mode);
  if (!is_pipe_ && !S_ISREG(status.st_mode)) throw Error("not a regular file");
  if (!is_pipe_ && status.st_size == 0) throw Error("it is empty");
  open();
  find_video();
}

// A pipe without a writer so far reads as if it had ended; poll() waits until one has come.
bool FileInput::wait_for_bytes() const {
  while (!stopped_ && !stop_requested()) {
    pollfd wanted{file_.get(), POLLIN, 0};
    const int ready = ::poll(&wanted, 1, kPollMs);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // read() tells what is wrong
  }
  return false;
}

int FileInput::read_bytes(void* self, std::uint8_t* bytes, int count) {
  auto& input = *static_cast<FileInput*>(self);
  for (;;) {
    if (input.is_pipe_ && !input.wait_for_bytes()) return AVERROR_EXIT;
    const ssize_t got = ::read(input.file_.get(), bytes, static_cast<std::size_t>(count));
    if (got > 0) return static_cast<int>(got);
    if (got == 0) return AVERROR_EOF;
    if (errno == EINTR || (input.is_pipe_ && errno == EAGAIN)) continue;
    input.read_error_ = errno;
    return AVERROR(errno);
  }
}

std::int64_t FileInput::seek_to(void* self, std::int64_t offset, int whence) {
  auto& input = *static_cast<FileInput*>(self);
  if ((whence & AVSEEK_SIZE) != 0) {
    struct stat status {};
    return ::fstat(input.file_.get(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : AVERROR(errno);
  }
  const off_t place = ::lseek(input.file_.get(), offset, whence & ~AVSEEK_FORCE);
  return place < 0 ? AVERROR(errno) : static_cast<std::int64_t>(place);
}

void FileInput::open() {
  forget_message();
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
  if (buffer == nullptr) throw std::bad_alloc();
  io_.reset(avio_alloc_context(buffer, kBufferBytes, 0, this, read_bytes, nullptr, is_pipe_ ? nullptr : seek_to));
  AVFormatContext* format = avformat_alloc_context();
  if (!io_ || format == nullptr) throw std::bad_alloc();
  io_->seekable = is_pipe_ ? 0 : AVIO_SEEKABLE_NORMAL;
  format->pb = io_.get();
  format->flags |= AVFMT_FLAG_CUSTOM_IO;
  format->io_open = refuse_to_open;
  AVDictionary* options = nullptr;
  av_dict_set(&options, "format_whitelist", kContainers, 0);
  av_dict_set(&options, "protocol_whitelist", "none", 0);
  if (is_pipe_) {  // its first frames are waited for as short as can be
    av_dict_set(&options, "analyzeduration", "200000", 0);
    av_dict_set(&options, "fpsprobesize", "0", 0);
  }
  const int code = avformat_open_input(&format, nullptr, nullptr, &options);  // frees the format where it fails
  av_dict_free(&options);
  if (code >= 0) {
    format_.reset(format);
    return;
  }
  if (code == AVERROR_EXIT) throw Interrupted("stopped while waiting for a video");
  if (read_error_ != 0) throw Error("can't be read: " + reason_of(code));
  const std::string why = last_message();
  throw Error("it is no video, or of a kind that isn't known, or cut short" + (why.empty() ? "" : " (" + why + ")"));
}

void FileInput::find_video() {
  std::vector<AVDictionary*> limits(format_->nb_streams, nullptr);
  for (AVDictionary*& limit : limits) av_dict_set_int(&limit, "max_pixels", kMaxPixels, 0);
  const int code = avformat_find_stream_info(format_.get(), limits.empty() ? nullptr : limits.data());
  for (AVDictionary*& limit : limits) av_dict_free(&limit);
  if (code == AVERROR_EXIT || (is_pipe_ && stopped_)) throw Interrupted("stopped while waiting for a video");
  bool has_sound = false;
  for (unsigned i = 0; i < format_->nb_streams; ++i) {
    AVStream* const stream = format_->streams[i];
    stream->discard = AVDISCARD_ALL;
    has_sound = has_sound || stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    const bool is_video =
        stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO && (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) == 0;
    if (is_video && stream_ == nullptr) stream_ = stream;
  }
  if (stream_ == nullptr) throw Error(has_sound ? "it has sound, but no video" : "there is no video in it");
  stream_->discard = AVDISCARD_DEFAULT;
  const AVCodecParameters& coded = *stream_->codecpar;
  decoder_ = avcodec_find_decoder(coded.codec_id);
  if (decoder_ == nullptr) {
    const std::string name =
        coded.codec_id == AV_CODEC_ID_NONE ? tag_text(coded.codec_tag) : avcodec_get_name(coded.codec_id);
    throw Error("its codec '" + name + "' isn't known to " + av_version_info() + " of FFmpeg, or it is encrypted");
  }
  if (coded.width <= 0 || coded.height <= 0) throw Error("the size of its frames can't be found: is it cut short?");
  check_picture_size(coded.width, coded.height);
}

bool FileInput::read(AVPacket& packet) {
  for (;;) {
    const int code = av_read_frame(format_.get(), &packet);
    if (code == AVERROR_EXIT || stopped_) throw Interrupted("stopped while reading a video");
    if (read_error_ != 0) throw Error("can't be read: " + reason_of(AVERROR(read_error_)));
    if (code == AVERROR_EOF) return false;
    if (code < 0) {
      broken_off_ = reason_of(code);
      return false;
    }
    if (packet.stream_index == stream_->index && packet.size > 0) {
      if (is_encrypted(packet)) throw Error("it is encrypted (DRM)");
      return true;
    }
    av_packet_unref(&packet);
  }
}

double FileInput::seconds(std::int64_t timestamp) const {
  const double start_s =
      format_->start_time == AV_NOPTS_VALUE ? 0 : static_cast<double>(format_->start_time) / double{AV_TIME_BASE};
  return static_cast<double>(timestamp) * av_q2d(stream_->time_base) - start_s;
}

double FileInput::rate() const {
  for (const AVRational rate : {stream_->avg_frame_rate, stream_->r_frame_rate}) {
    if (rate.num > 0 && rate.den > 0) return av_q2d(rate);
  }
  return 0;
}

// The matrix maps a point (x, y) of the frame to (a x + c y, b x + d y); y grows downwards.
int FileInput::orientation() const {
  const std::int32_t* const matrix = display_matrix(*stream_);
  if (matrix == nullptr) return 1;
  constexpr double kOne = 65536;
  const auto sign = [&](int i) { return static_cast<int>(std::lround(matrix[i] / kOne)); };
  const std::array<int, 4> turn = {sign(0), sign(1), sign(3), sign(4)};  // a, b, c, d
  constexpr std::array<std::array<int, 4>, 8> kTurns = {{{1, 0, 0, 1},
                                                         {-1, 0, 0, 1},
                                                         {-1, 0, 0, -1},
                                                         {1, 0, 0, -1},
                                                         {0, 1, 1, 0},
                                                         {0, 1, -1, 0},
                                                         {0, -1, -1, 0},
                                                         {0, -1, 1, 0}}};
  for (std::size_t i = 0; i < kTurns.size(); ++i) {
    if (kTurns[i] == turn) return static_cast<int>(i) + 1;
  }
  return 1;
}

}  // namespace evener::data::video_module
