UPDATE one_time_codes SET asked_auth_time = created_at;
