#include <curl/curl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

// Swift cannot import the variadic functions `curl_easy_setopt` and `curl_easy_getinfo`. These functions call them, one
// for each type that Concord uses.

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_set_recipients(CURL *handle, struct curl_slist *value) {
    return curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, value);
}

static inline CURLcode ccurl_set_read(CURL *handle, curl_read_callback value) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, value);
}

static inline CURLcode ccurl_set_debug(CURL *handle, curl_debug_callback value) {
    return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, value);
}

static inline CURLcode ccurl_set_progress(CURL *handle, curl_xferinfo_callback value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode ccurl_get_socket(CURL *handle, curl_socket_t *value) {
    return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, value);
}

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
static inline CURLcode ccurl_set_write(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

// libcurl copies the bytes.
static inline CURLcode ccurl_set_bytes(CURL *handle, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

static inline CURLcode ccurl_allow_only_http(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// Options that only save time, and that libcurl before 7.87 does not have. QUICK_EXIT: a transfer that ends during the
// look-up of a name does not wait for it. CA_CACHE_TIMEOUT: the system's authorities are parsed once in this time.
//
// Before 7.87, the removal of such a transfer blocks the thread that drives all of them until the system's resolver
// answers or gives up. libcurl looks up names only for requests to a named destination, such as the push service; others
// have a numeric address. Each TLS connection parses the authorities, in 20 ms.
static inline void ccurl_set_shortcuts(CURL *handle, long authorities_seconds) {
#if LIBCURL_VERSION_NUM >= 0x075700
    curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(handle, CURLOPT_CA_CACHE_TIMEOUT, authorities_seconds);
#endif
}

static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

// A file in memory, for authorities that libcurl reads by a path. The C library declares its function only to programs
// that ask for the extensions of GNU.
static inline int ccurl_memory_file(const char *name) {
    const unsigned int close_on_exec = 1;
    return (int)syscall(SYS_memfd_create, name, close_on_exec);
}
