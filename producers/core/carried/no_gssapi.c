// The calls of Cyrus SASL that librdkafka makes for Kerberos. libproducer_core.so is loaded into
// processes on machines that may lack libsasl2, so Kerberos is not offered from there: a configuration
// that asks for it is refused by librdkafka with the text below. PLAIN, SCRAM and OAUTHBEARER are
// librdkafka's own and work.
typedef struct sasl_conn sasl_conn_t;
typedef struct sasl_callback sasl_callback_t;
typedef struct sasl_interact sasl_interact_t;

enum { kNotAvailable = -4 };  // SASL_NOMECH
static const char kReason[] = "Kerberos (GSSAPI) is not available inside a training process";

int sasl_client_init(const sasl_callback_t* callbacks) {
  (void)callbacks;
  return 0;  // asked for at start, whatever mechanism is used
}

int sasl_client_new(const char* service, const char* server, const char* local, const char* remote,
                    const sasl_callback_t* callbacks, unsigned flags, sasl_conn_t** connection) {
  (void)service, (void)server, (void)local, (void)remote, (void)callbacks, (void)flags;
  *connection = 0;
  return kNotAvailable;
}

int sasl_client_start(sasl_conn_t* connection, const char* mechanisms, sasl_interact_t** prompts, const char** out,
                      unsigned* out_length, const char** mechanism) {
  (void)connection, (void)mechanisms, (void)prompts, (void)out, (void)out_length, (void)mechanism;
  return kNotAvailable;
}

int sasl_client_step(sasl_conn_t* connection, const char* in, unsigned in_length, sasl_interact_t** prompts,
                     const char** out, unsigned* out_length) {
  (void)connection, (void)in, (void)in_length, (void)prompts, (void)out, (void)out_length;
  return kNotAvailable;
}

void sasl_dispose(sasl_conn_t** connection) { *connection = 0; }

const char* sasl_errstring(int code, const char* languages, const char** out_language) {
  (void)code, (void)languages, (void)out_language;
  return kReason;
}

const char* sasl_errdetail(sasl_conn_t* connection) {
  (void)connection;
  return kReason;
}

int sasl_getprop(sasl_conn_t* connection, int property, const void** value) {
  (void)connection, (void)property;
  *value = 0;
  return kNotAvailable;
}

int sasl_listmech(sasl_conn_t* connection, const char* user, const char* prefix, const char* separator,
                  const char* suffix, const char** result, unsigned* length, int* count) {
  (void)connection, (void)user, (void)prefix, (void)separator, (void)suffix, (void)length, (void)count;
  *result = "";
  return kNotAvailable;
}
